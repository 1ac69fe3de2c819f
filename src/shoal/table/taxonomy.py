"""Taxonomies of nominal values, from CSV, JSON or TOML files or from nested dictionaries and lists.

Each row of a CSV file has a leaf and its ancestors up to the root, separated by `;` or `,`, as in the hierarchies of
ARX. JSON and TOML files are nested: {"node": {"node": ["leaf", "leaf"]}}. The leaves have the order of the file.
"""

from __future__ import annotations

import csv
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError

Leaves = tuple[str, ...]


@dataclass(frozen=True)
class Taxonomy:
    """The leaves in order, and the leaves under each inner node."""

    leaves: Leaves
    nodes: tuple[tuple[str, frozenset[str]], ...]

    def name_of(self, values: frozenset[str]) -> str | None:
        """The node whose leaves are exactly these values."""
        return next((name for name, under in self.nodes if under == values), None)


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
        return _from_rows(text, str(path))
    except csv.Error as error:
        raise InputError(f"The taxonomy {str(path)!r} is not valid CSV: {error}.") from None


def _from_rows(text: str, where: str) -> dict[str, Any]:
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
    tree: dict[str, Any] = {}
    for path in paths:
        branch = tree
        for name in path:
            branch = branch.setdefault(name, {})
    return tree


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
    """Yield the leaves below a node, and add every inner node to `nodes`."""
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
