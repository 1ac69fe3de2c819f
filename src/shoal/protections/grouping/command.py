"""What `shoal group` prints of a release."""

from __future__ import annotations

from typing import Any

from shoal.report.page import Grid


def show(release: Any) -> list[Grid]:
    """The groups of columns, what they cost, and what is promised."""
    facts = release.facts
    groups = [[f"group {i + 1}", ", ".join(g)] for i, g in enumerate(facts["groups"])]
    rows = [
        ["fitness", f"{facts['fitness']:.4f}"],
        ["information loss", f"{facts['information_loss']:.4f} %"],
        ["interval disclosure", f"{facts['interval_disclosure']:.4f} %"],
        ["distance linkage, all columns", f"{facts['distance_linkage_all_columns']:.4f} %"],
        ["smallest group of records within a column group", facts["smallest_group"]],
        ["joint k, over all columns (measured, not guaranteed)", facts["joint_k"]],
        ["splits evaluated", facts["evaluations"]],
    ]
    blocks = [Grid(["", ""], groups, text=2, title="Column groups"), Grid(["", ""], rows, title="Loss and risk")]
    if release.front:
        points = [[c["information_loss"], c["risk"], c["fitness"], len(c["groups"])] for c in release.front]
        heads = ["loss", "risk", "fitness", "groups"]
        blocks.append(Grid(heads, points, text=0, title="No other choice is better in both"))
    return blocks
