"""Column groups: the columns are split into groups, and each column group is microaggregated by itself.

This is the declaration of `shoal.group_attributes` (see `shoal.protections.protection`); the work is done in `protect`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shoal.engine.progress import Progress, silent
from shoal.gate.promises import KAnonymity
from shoal.protections.microaggregation import MICROAGGREGATE
from shoal.protections.parameters import Columns, Effort, Missing, Seed, Threads, share
from shoal.protections.protection import Method, Option, Protection, names
from shoal.spelling import FilePath

if TYPE_CHECKING:
    from shoal.engine.control import Control
    from shoal.protections.grouping.protect import GroupedRelease

METHODS = (
    Method("memetic", "A genetic algorithm with local search, for the best balance of loss and risk", weights=False),
    Method("gomm", "The published genetic algorithm (GOMM)", weights=False),
    Method("d-gomm", "GOMM that drops operators whose children do not survive", weights=False),
    Method("exact", "The best of all column groups, proved by bounds and enumeration", weights=False),
    Method("all", "All columns in one group", weights=False),
    Method("univariate", "Each column by itself", weights=False),
    Method("correlated", "Groups of a given size, with columns that are strongly correlated", weights=False),
    Method("uncorrelated", "Groups of a given size, with columns that are weakly correlated", weights=False),
)
EVOLUTION = ("gomm", "d-gomm")
SEARCHES = ("memetic", *EVOLUTION, "exact")
SIZED = ("correlated", "uncorrelated")

GROUP = Protection(
    name="group",
    title="Column groups",
    example="shoal group survey.csv -k 5 --identifiers name --quasi age,hours,income,expenses,wealth "
    "--confidential diagnosis --drop district,sex,education --accept-k 1 -o release.csv",
    summary="Find which columns to microaggregate together, by loss and risk.",
    about="Each column group is microaggregated by itself. The search minimizes the fitness F, the mean of information "
    "loss and disclosure risk in percent: lower is better. It estimates F with MDAV inside the column groups; the "
    "printed values are those of the release.",
    promise="Every record shares its values with at least k - 1 others within each column group. Over all columns "
    "together a class may be smaller. Shoal measures and prints that number, the joint k.",
    limits=(
        (
            "k holds within each column group only.",
            "Over all columns together a class may be smaller, even a single record.",
        ),
        *MICROAGGREGATE.limits,
    ),
    promises=(KAnonymity,),
    methods=METHODS,
    place=6,
    instead_of_files="Choose the columns on one file, and protect the folder with shoal microaggregate --quasi.",
)
DECLARED = (GROUP,)


def _lists(groups: Any) -> Any:
    """The lists of column groups; a recipe holds the lists themselves, not the file."""
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
            "Your own column groups in a JSON file: lists of names, or of numbers from 1. FILE#a.b selects an entry.",
            excludes="method",
            spelling=FilePath(entry=True),
            recorded=_lists,
        ),
    ] = None,
    size: Annotated[int | None, Option("Number of columns per column group.", 1, of=SIZED)] = None,
    convention: Annotated[
        Literal["sound", "thesis"], Option("Convention for loss and risk; thesis is that of the GOMM thesis.")
    ] = "sound",
    within_groups: Annotated[
        Literal["auto", "search", "mdav"],
        Option(
            "Method that groups the records inside a column group: the search of shoal microaggregate, or MDAV as "
            "published. auto: the one with the lower fitness; mdav with the convention thesis.",
            absent_in_recipe="mdav",
        ),
    ] = "auto",
    effort: Annotated[Effort | None, Option("Search budget inside each column group.", default_text="standard")] = None,
    with_front: Annotated[
        bool, Option("Also find the Pareto front: column groups that no others beat in loss and risk.", flag="--front")
    ] = False,
    pick: Annotated[
        int | None,
        Option(
            "Number of the solution of the Pareto front to take.",
            1,
            needs="with_front",
            default_text="the lowest fitness",
        ),
    ] = None,
    joint_k: Annotated[
        int | None,
        Option("Accept only column groups with at least this many records per class over all columns together.", 2),
    ] = None,
    max_linkage: Annotated[
        float | None,
        share(
            "Accept only column groups with at most this share of records linked by an intruder who holds all columns."
        ),
    ] = None,
    intruder: Annotated[Sequence[str], Option("Columns that an intruder holds; their linkage is measured, too.")] = (),
    baselines: Annotated[
        bool, Option("Also measure one group of all columns, and each column alone, for comparison.")
    ] = True,
    evaluations: Annotated[
        int | None,
        Option("Number of column groupings to evaluate.", 1, of=("memetic", "exact"), also_with="with_front"),
    ] = None,
    seconds: Annotated[
        float | None,
        Option(
            "Time limit of the search for column groups.",
            0,
            unit="s",
            of=("memetic", *EVOLUTION),
            also_with="with_front",
        ),
    ] = None,
    population: Annotated[int, Option("Number of solutions per generation (P).", 2, of=EVOLUTION)] = 200,
    generations: Annotated[int, Option("Number of generations (G).", 0, of=EVOLUTION)] = 100,
    crossovers: Annotated[
        int, Option("Number of crossovers per generation (C); each has two children.", 0, of=EVOLUTION)
    ] = 25,
    mutations: Annotated[
        int, Option("Number of mutations of each of the five kinds per generation (M).", 0, of=EVOLUTION)
    ] = 10,
    stop_rule: Annotated[
        Literal["generations", "mean"],
        Option("End after all generations, or once a generation does not change the mean fitness.", of=EVOLUTION),
    ] = "generations",
    patience: Annotated[
        int,
        Option("Generations in a row without a surviving child after which an operator is dropped.", 1, of=("d-gomm",)),
    ] = 5,
    round: Annotated[bool, Option("Keep integer columns integers.")] = False,
    missing: Missing = "error",
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "GroupedRelease":
    """Find column groups with the best balance of loss and risk, and microaggregate each column group by itself.

    `groups` takes your own column groups instead of a method, by column name or by number from 1. The convention is
    sound (standardized columns, Euclidean distance) or thesis (as in the GOMM thesis, where the last record group may
    be smaller than k).
    """
    from shoal.protections.grouping.floor import Floor
    from shoal.protections.grouping.gomm import GommSettings, times_per_generation
    from shoal.protections.grouping.protect import Outcome, Replacing, protect
    from shoal.protections.grouping.searching import Searching

    times = times_per_generation(crossovers, mutations)
    settings = GommSettings(population, generations, times, method == "d-gomm", patience, stop_rule == "mean")
    searching = Searching(method, size, evaluations, seconds, seed, settings)
    replacing = Replacing(within_groups, effort, round, missing)
    outcome = Outcome(with_front, pick, baselines, intruder)
    return protect(data, k, quasi, groups, searching, convention, replacing, Floor(joint_k, max_linkage), outcome)
