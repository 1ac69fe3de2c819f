"""Column groups: columns are put into groups, and each group is microaggregated by itself.

This is the declaration of `shoal.group_attributes` (see `shoal.protections.protection`); the work is done in `protect`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shoal.engine.progress import Progress, silent
from shoal.gate.promises import KAnonymity
from shoal.protections.microaggregation import MICROAGGREGATE
from shoal.protections.parameters import Columns, Missing, Seed, Threads
from shoal.protections.protection import Method, Option, Protection, names
from shoal.spelling import FilePath

if TYPE_CHECKING:
    from shoal.engine.control import Control
    from shoal.protections.grouping.protect import GroupedRelease

METHODS = (
    Method("memetic", "A genetic algorithm with local search, for the best balance of loss and risk", weights=False),
    Method("gomm", "The published genetic algorithm (GOMM)", weights=False),
    Method("d-gomm", "GOMM that leaves out operators that do not help", weights=False),
    Method("exact", "The best column groups, proved by looking at all that can be better", weights=False),
    Method("all", "All columns in one group", weights=False),
    Method("univariate", "Each column by itself", weights=False),
    Method("correlated", "Groups of a given size, with columns that are strongly correlated", weights=False),
    Method("uncorrelated", "Groups of a given size, with columns that are weakly correlated", weights=False),
)
SIZED = ("correlated", "uncorrelated")

GROUP = Protection(
    name="group",
    title="Column groups",
    example="shoal group survey.csv -k 5 --roles roles.toml --method univariate -o release.csv",
    summary="Find which columns to microaggregate together, by loss and risk.",
    about="Each group of columns is microaggregated by itself.",
    promise="Every record shares its values with at least k - 1 others within each column group. Over all columns "
    "together a class may be smaller: the joint k is measured and printed.",
    limits=(
        (
            "k holds within each column group only.",
            "Over all columns together a class may be smaller, even a single record.",
        ),
        *MICROAGGREGATE.limits,
    ),
    promises=(KAnonymity,),
    methods=METHODS,
    place=2,
)
DECLARED = (GROUP,)


def _lists(groups: Any) -> Any:
    """The lists of column groups, read if they are in a file: a recipe holds them itself."""
    from shoal.protections.grouping.grouping import read_groups

    return read_groups(groups)


@GROUP.declares
def group_attributes(
    data: Any,
    k: Annotated[int, Option("Smallest number of records in a group, within each column group.", 2, flag="-k")],
    *,
    method: Annotated[str, Option("Method that finds the column groups.", choices=names(METHODS))] = "memetic",
    quasi: Columns = (),
    groups: Annotated[
        str | Sequence[Sequence[str | int]] | None,
        Option(
            "Your own column groups, in a JSON file: lists of names or of numbers from 1; FILE#a.b for an entry in it.",
            excludes="method",
            spelling=FilePath(entry=True),
            recorded=_lists,
        ),
    ] = None,
    size: Annotated[int | None, Option("Number of columns in a group.", 1, of=SIZED)] = None,
    convention: Annotated[
        Literal["sound", "thesis"], Option("How loss and risk are measured; thesis: as the GOMM thesis measures them.")
    ] = "sound",
    with_front: Annotated[bool, Option("Also find the Pareto front of loss and risk.", flag="--front")] = False,
    evaluations: Annotated[
        int | None,
        Option("Number of column groupings to evaluate.", 1, of=("memetic", "exact"), also_with="with_front"),
    ] = None,
    seconds: Annotated[
        float | None, Option("Time limit of the search.", 0, unit="s", of=("memetic",), also_with="with_front")
    ] = None,
    round: Annotated[bool, Option("Keep integer columns integers.")] = False,
    missing: Missing = "error",
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "GroupedRelease":
    """Find groups of columns with the best balance of loss and risk, and microaggregate each by itself.

    groups are your own groups of columns instead of a method, by name or by number from 1. The convention is sound
    (standardized, Euclidean) or thesis (reproduces the GOMM thesis, its last groups included).
    """
    from shoal.protections.grouping.protect import Searching, protect

    searching = Searching(method, size, evaluations, seconds, seed)
    return protect(data, k, quasi, groups, searching, convention, with_front, round, missing)
