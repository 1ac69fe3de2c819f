"""Taxonomies of names and codes: read from CSV, JSON or TOML, or given as nested dictionaries and lists.

A CSV file has a leaf in each row, followed by its ancestors from the nearest to the root (ARX's hierarchies), with `;`
or `,` between. A first row that shares no cell with the others, and is named like the column or lacks their root, is a
header. JSON and TOML nest: {"node": {"node": ["leaf", "leaf"]}}. The leaves' order is that of a walk from the root,
children in the order of the file.
"""

from __future__ import annotations

import csv
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Ints
from shoal.errors import InputError

Leaves = tuple[str, ...]


@dataclass(frozen=True)
class Taxonomy:
    """Leaves in order, and for each inner node the leaves under it."""

    leaves: Leaves
    nodes: tuple[tuple[str, frozenset[str]], ...]

    def name_of(self, values: frozenset[str]) -> str | None:
        """The node whose leaves are exactly these values."""
        return next((name for name, under in self.nodes if under == values), None)


@dataclass(frozen=True, eq=False)
class Splits:
    """The nodes of a taxonomy over its leaves in order: which node two neighbouring leaves have in common.

    parent: of each node, -1 for the root; parents come first. node_at: for each two neighbouring leaves, the lowest
    node above both. A node that is split shows its children, if its parent is split too.
    """

    parent: Ints
    node_at: Ints

    def cuts(self, split: Any) -> Any:
        """Which neighbouring leaves are apart, for a row of split nodes (1 or 0) or for many rows."""
        is_split = np.array(split, copy=True)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                is_split[..., node] &= is_split[..., parent]
        return is_split[..., self.node_at]

    def split_nodes(self, leaves: Ints, labels: Ints) -> Any:
        """Which nodes are split by the categories of some leaves; a node with fewer than two of them is split."""
        here = self.among(leaves).node_at
        is_split = np.ones(self.parent.size, dtype=np.uint8)
        is_split[here[labels[1:] == labels[:-1]]] = 0
        return is_split

    def among(self, leaves: Ints) -> Splits:
        """The nodes over some of the leaves."""
        ends = pairwise(leaves.tolist())
        # Nodes are numbered from the widest on: the lowest node above two leaves is the widest between them.
        return Splits(self.parent, np.array([self.node_at[a:b].min() for a, b in ends], dtype=np.int64))

    def with_leaf(self, place: int) -> Splits:
        """One more leaf before that of this number, a sibling of the one before; at the end, a child of the root."""
        size = self.node_at.size + 1
        if place >= size or size == 1:
            return Splits(self.parent, np.append(self.node_at, 0))
        place = max(place, 1)
        around = self.node_at[max(place - 2, 0) : place]
        return Splits(self.parent, np.insert(self.node_at, place - 1, around.max()))

    def without(self, place: int) -> Splits:
        """The nodes without a leaf."""
        return self.among(np.delete(np.arange(self.node_at.size + 1), place))


def splits_of(taxonomy: Taxonomy) -> Splits:
    """The nodes of a taxonomy as splits of its leaves; a taxonomy without a root gets one."""
    place = {leaf: i for i, leaf in enumerate(taxonomy.leaves)}
    ends = {(0, len(place) - 1)}
    for _, under in taxonomy.nodes:
        places = [place[leaf] for leaf in under]
        ends.add((min(places), max(places)))
    node_at = np.full(max(len(place) - 1, 0), -1, dtype=np.int64)
    parents = []
    for node, (first, last) in enumerate(sorted(ends, key=lambda end: (end[0] - end[1], end))):
        parents.append(int(node_at[first]) if node else -1)
        node_at[first:last] = node
    return Splits(np.array(parents, dtype=np.int64), node_at)


def read_taxonomy(source: Any, column: str) -> Taxonomy:
    """A taxonomy from a file's path or from nested dictionaries and lists."""
    if isinstance(source, Taxonomy):
        return source
    where = str(source) if isinstance(source, str | os.PathLike) else f"The taxonomy of {column!r}"
    return _from_nested(nested(source, column), where)


def nested(source: Any, column: str) -> Any:
    """The dictionaries and lists of a taxonomy, read if it is a file's path."""
    return _from_file(Path(source), column) if isinstance(source, str | os.PathLike) else source


def _from_file(path: Path, column: str) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"Cannot read the taxonomy of {column!r} from {str(path)!r}: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise InputError(f"The taxonomy {str(path)!r} is not text in UTF-8. Save it as UTF-8.") from None
    try:
        if path.suffix.lower() == ".json":
            return json.loads(text)
        if path.suffix.lower() == ".toml":
            return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"The taxonomy {str(path)!r} is not valid {path.suffix[1:].upper()}: {problem}.") from None
    try:
        return _from_rows(text, str(path), column)
    except csv.Error as error:
        raise InputError(f"The taxonomy {str(path)!r} is not valid CSV: {error}.") from None


def _from_rows(text: str, where: str, column: str) -> dict[str, Any]:
    delimiter = ";" if ";" in text.split("\n", 1)[0] else ","
    paths: list[list[str]] = []
    for number, row in enumerate(csv.reader(text.splitlines(), delimiter=delimiter), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if not cells[0]:
            raise InputError(f"{where}: row {number} has no leaf. Each row is a leaf followed by its ancestors.")
        # A level that does not generalize a value repeats it; keep it once.
        path = [cell for i, cell in enumerate(cells) if cell and cell not in cells[:i]]
        paths.append(path[::-1])
    if _is_header(paths, column):
        paths = paths[1:]
    tree: dict[str, Any] = {}
    for path in paths:
        branch = tree
        for name in path:
            branch = branch.setdefault(name, {})
    return tree


def _is_header(paths: list[list[str]], column: str) -> bool:
    """Whether the first row names the levels: it has no cell of another row, and the column's name or another root."""
    first, others = paths[0] if paths else [], paths[1:]
    if len(others) < 2 or set(first) & {cell for path in others for cell in path}:
        return False
    roots = {path[0] for path in others}
    return first[-1].lower() == column.lower() or (len(roots) == 1 and len(first) > 1)


def _from_nested(tree: Any, where: str) -> Taxonomy:
    nodes: list[tuple[str, Leaves]] = []
    try:
        leaves = tuple(_walk(tree, nodes, where))
    except RecursionError:
        raise InputError(f"{where} is nested too deeply. Use fewer levels.") from None
    if not leaves:
        raise InputError(f"{where} has no leaves.")
    seen: set[str] = set()
    for leaf in leaves:
        if leaf in seen:
            raise InputError(f"{where} has the leaf {leaf!r} twice. Each value must occur once.")
        seen.add(leaf)
    return Taxonomy(leaves, tuple((name, frozenset(under)) for name, under in nodes if len(under) > 1))


def _walk(tree: Any, nodes: list[tuple[str, Leaves]], where: str) -> Iterator[str]:
    """The leaves below, noting every inner node on the way."""
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            inside: Leaves = tuple(_walk(below, nodes, where)) or (str(name),)
            if inside != (str(name),):
                nodes.append((str(name), inside))
            yield from inside
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for below in tree:
            yield from _walk(below, nodes, where)
    elif isinstance(tree, str | int | float):
        yield str(tree)
    elif tree is not None:
        raise InputError(f"{where}: {tree!r} is neither a node, a list of leaves nor a leaf.")
