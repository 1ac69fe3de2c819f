"""Taxonomies of names and codes, from a CSV, JSON or TOML file or from nested dictionaries and lists.

A CSV file has one leaf per row, followed by its ancestors from the nearest to the root (the form of ARX), with `;` or
`,` between them. The first row is a header if it shares no cell with the others, and has the name of the column, the
name of a level or another root. JSON and TOML files are nested: {"node": {"node": ["leaf", "leaf"]}}. The leaves have
the order of the file, from the first child of the root to the last.
"""

from __future__ import annotations

import csv
import json
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Ints
from shoal.errors import InputError
from shoal.notices import notice

Leaves = tuple[str, ...]
LEVEL = re.compile(r"(leaf|value|code|name|level|node|group|parent|root)s?[ _-]?\d*")  # cells of header rows


@dataclass(frozen=True)
class Taxonomy:
    """The leaves in order, and the leaves below each inner node."""

    leaves: Leaves
    nodes: tuple[tuple[str, frozenset[str]], ...]

    def name_of(self, values: frozenset[str]) -> str | None:
        """Return the node whose leaves are exactly these values, or None."""
        return next((name for name, under in self.nodes if under == values), None)


@dataclass(frozen=True, eq=False)
class Splits:
    """The nodes of a taxonomy, in the form that a search over cuts between neighbouring leaves needs.

    parent: the parent of each node, -1 for the root; parents come first. node_at: for each two neighbouring leaves, the
    lowest node above both. A node that is split shows its children, if its parent is split too.
    """

    parent: Ints
    node_at: Ints

    def cuts(self, split: Any) -> Any:
        """Return which neighbouring leaves are in different categories, for one or more rows of split nodes."""
        is_split = np.array(split, copy=True)
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                is_split[..., node] &= is_split[..., parent]
        return is_split[..., self.node_at]

    def split_nodes(self, leaves: Ints, labels: Ints) -> Any:
        """Return the nodes that the categories of these leaves split; a node with fewer than two of them is split."""
        here = self.among(leaves).node_at
        is_split = np.ones(self.parent.size, dtype=np.uint8)
        is_split[here[labels[1:] == labels[:-1]]] = 0
        return is_split

    def among(self, leaves: Ints) -> Splits:
        """Return the nodes above these leaves."""
        ends = pairwise(leaves.tolist())
        # Nodes are numbered from the widest on: the lowest node above two leaves is the widest between them.
        return Splits(self.parent, np.array([self.node_at[a:b].min() for a, b in ends], dtype=np.int64))

    def with_leaf(self, place: int) -> Splits:
        """Return the nodes with a new leaf at this place, a sibling of the leaf before it, or a child of the root."""
        size = self.node_at.size + 1
        if place >= size or size == 1:
            return Splits(self.parent, np.append(self.node_at, 0))
        place = max(place, 1)
        around = self.node_at[max(place - 2, 0) : place]
        return Splits(self.parent, np.insert(self.node_at, place - 1, around.max()))

    def without(self, place: int) -> Splits:
        """Return the nodes without the leaf of this number."""
        return self.among(np.delete(np.arange(self.node_at.size + 1), place))


def splits_of(taxonomy: Taxonomy) -> Splits:
    """Return the nodes of a taxonomy as splits of its leaves; a taxonomy without a root gets one."""
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


def read_taxonomy(source: Any, column: str, values: Collection[str] | None = None) -> Taxonomy:
    """Return a taxonomy.

    Args:
        source: The path of a CSV, JSON or TOML file, nested dictionaries and lists, or a taxonomy.
        column: The column, for messages and to recognize a header row.
        values: The values of the column, to report a first row that may be a header.

    Raises:
        InputError: The file cannot be read, or the taxonomy is not valid.
    """
    if isinstance(source, Taxonomy):
        return source
    where = str(source) if isinstance(source, str | os.PathLike) else f"The taxonomy of {column!r}"
    return _from_nested(nested(source, column, values), where)


def nested(source: Any, column: str, values: Collection[str] | None = None) -> Any:
    """Return the dictionaries and lists of a taxonomy, read from the file if the source is a path."""
    return _from_file(Path(source), column, values) if isinstance(source, str | os.PathLike) else source


def _from_file(path: Path, column: str, values: Collection[str] | None) -> Any:
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
        return _from_rows(text, str(path), column, values)
    except csv.Error as error:
        raise InputError(f"The taxonomy {str(path)!r} is not valid CSV: {error}.") from None


def _from_rows(text: str, where: str, column: str, values: Collection[str] | None) -> dict[str, Any]:
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
    if _may_be_header(paths):
        first = paths[0]
        if _is_header(first, paths[1:], column):
            paths = paths[1:]
        elif values is not None and first[-1] not in values:
            notice(
                f"The first row of {where}, '{delimiter.join(first[::-1])}', counts as a leaf, but the column "
                f"{column!r} has no value {first[-1]!r}. If the row is a header, remove it from the file, or name its "
                f"first cell {column!r}."
            )
    tree: dict[str, Any] = {}
    for path in paths:
        branch = tree
        for name in path:
            branch = branch.setdefault(name, {})
    return tree


def _may_be_header(paths: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row shares no cell with the others."""
    return len(paths) > 2 and not set(paths[0]) & {cell for path in paths[1:] for cell in path}


def _is_header(first: Sequence[str], others: Sequence[Sequence[str]], column: str) -> bool:
    """Return whether the first row has the name of the column, names of levels, or another root than all others."""
    names = [cell.lower() for cell in first]
    leaf, wanted = names[-1], column.lower()
    if leaf == wanted or (len(leaf) > 2 and leaf in re.split(r"[\W_]+", wanted)):  # country of native_country
        return True
    return len(first) > 1 and (len({path[0] for path in others}) == 1 or any(map(LEVEL.fullmatch, names)))


def _from_nested(tree: Any, where: str) -> Taxonomy:
    nodes: list[tuple[str, Leaves]] = []
    try:
        leaves = tuple(_walk(tree, nodes, where))
    except RecursionError:
        raise InputError(f"{where} is nested too deeply. Use fewer levels.") from None
    if not leaves:
        raise InputError(f"{where} has no leaves. Add the values of the column.")
    seen: set[str] = set()
    for leaf in leaves:
        if leaf in seen:
            raise InputError(f"{where} has the leaf {leaf!r} twice. Each value must occur once.")
        seen.add(leaf)
    return Taxonomy(leaves, tuple((name, frozenset(under)) for name, under in nodes if len(under) > 1))


def _walk(tree: Any, nodes: list[tuple[str, Leaves]], where: str) -> Iterator[str]:
    """Yield the leaves of a tree, and add its inner nodes to `nodes`."""
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
