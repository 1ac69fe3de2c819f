"""Annotations of the parameters that several protections share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from shoal.engine.effort import EFFORTS as EFFORTS
from shoal.engine.effort import Effort as Effort
from shoal.gate.promises import Distance
from shoal.protections.protection import Option
from shoal.spelling import ByColumn, FilePath, KindAndNumbers, Names, Repeated


def _trees(taxonomy: Mapping[str, Any]) -> dict[str, Any]:
    """Return the taxonomies as nested tables: a recipe holds what their files hold."""
    from shoal.table.taxonomy import nested

    return {column: nested(tree, column) for column, tree in taxonomy.items()}


Columns = Annotated[Sequence[str], Option("Columns an intruder may know; they are protected.")]
ColumnSets = Annotated[
    Sequence[Sequence[str]] | None,
    Option(
        "Columns that one intruder knows: k holds for each set.",
        typed="Repeat the option for each set.",
        flag="--set",
        spelling=Repeated(Names()),
        default_text="all quasi-identifiers",
    ),
]
Taxonomies = Annotated[
    Mapping[str, Any] | None,
    Option(
        "Taxonomy of a column, from a file (.csv, .json or .toml).",
        typed="For example country=regions.csv.",
        spelling=ByColumn(FilePath()),
        recorded=_trees,
    ),
]
LabelLength = Annotated[
    Literal["short", "full"],
    Option("Cut long lists of values in labels, or write them in full.", typed="See --legend."),
]
RequiredL = Annotated[
    Any,
    Option(
        "Smallest l-diversity of the confidential columns.",
        typed="For example 3, entropy:3 or recursive:4:3.",
        flag="-l",
        spelling=KindAndNumbers(hint="L"),
    ),
]
RequiredT = Annotated[float | None, Option("Largest t-closeness of the confidential columns.", 0, 1, flag="-t")]
DistanceOfT = Annotated[
    Distance,
    Option(
        "Distance of two values in t-closeness. equal: the same for all. ordered: by their places in ascending order.",
        needs="t",
    ),
]
LeafRecords = Annotated[
    int, Option("Records that are searched together; a worker needs about 1 kB for each.", 40, on_files=True)
]
LeafRounds = Annotated[
    int, Option("Number of searches across the borders of the leaves, after that of each leaf.", 0, on_files=True)
]
Missing = Annotated[
    Literal["error", "drop", "median"],
    Option("Handling of missing values. error: stop. drop: remove the records. median: fill in the median."),
]
Seed = Annotated[
    int,
    Option(
        "Seed of the search.",
        default_text="0, and a random secret for choices that hide something",
        in_recipe=False,  # a recipe has one seed for all steps, at its top
    ),
]
Threads = Annotated[
    int | None,
    Option("Largest number of threads; the result is the same.", 1, default_text="all cores", in_recipe=False),
]


def share(help: str, of: tuple[str, ...] = ()) -> Option:
    """Return the option of a number between 0 and 1."""
    return Option(help, 0, 1, of=of)


def option_of(annotation: Any, of: tuple[str, ...]) -> Option:
    """Return the option of a shared annotation for some methods only."""
    option: Option = annotation.__metadata__[0]
    return replace(option, of=of)
