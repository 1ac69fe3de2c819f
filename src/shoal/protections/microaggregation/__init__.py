"""Microaggregation: every record gets the means, medians or modes of its group of at least k.

This is its declaration (see `shoal.protections.protection`); the work is done in `protect` and in `methods`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shoal.engine.progress import Progress, silent
from shoal.gate.promises import Distance, KAnonymity, LDiversity, TCloseness
from shoal.protections.microaggregation.choices import Engine, Heuristic, LossName, MacroSplit, PathOrder, Remainder
from shoal.protections.parameters import (
    Columns,
    DistanceOfT,
    Effort,
    LeafRecords,
    LeafRounds,
    Missing,
    RequiredL,
    RequiredT,
    Seed,
    Threads,
    option_of,
    share,
)
from shoal.protections.protection import Method, Option, Protection, names
from shoal.spelling import Either, Number, NumberPerColumn, Word
from shoal.table.choices import Scaling

if TYPE_CHECKING:
    from shoal.engine.control import Control
    from shoal.release import Release

METHODS = (
    Method("auto", "The best default for the size of the file"),
    Method("mdav", "Groups of k around the records farthest from the centroid, two at a time"),
    Method("md", "Groups of k around the two most distant records", quick_up_to=10_000),
    Method("vmdav", "MDAV with groups of k to 2k-1 that follow the data's clusters", quick_up_to=20_000),
    Method("mst", "The minimum spanning tree, cut at its longest edges", quick_up_to=20_000),
    Method("path", "A short tour through all records, cut optimally", quick_up_to=50_000),
    Method("univariate", "The optimum of a single column", weights=False),
    Method("anneal", "Annealing, which moves records between neighbouring groups at a falling temperature"),
    Method("memetic", "Several annealed partitions whose best groups are recombined"),
    Method("blocks", "Annealing block by block, for files of any size"),
    Method(
        "genetic",
        "The genetic algorithm of Solanas 2008, useful up to about 100 records",
        weights=False,
        quick_up_to=50,
    ),
    Method(
        "hybrid",
        "The groups of MDAV, improved by the genetic algorithm within macro-groups of neighbours",
        weights=False,
        quick_up_to=1_000,
    ),
    Method("exact", "The optimum of a small file, proved"),
)
SEARCHES = ("auto", "anneal", "memetic", "blocks")
EVOLUTION = ("genetic", "hybrid")

MICROAGGREGATE = Protection(
    name="microaggregate",
    title="Microaggregation",
    example="shoal microaggregate survey.csv -k 5 --roles roles.toml -o release.csv --report report.html",
    summary="Replace values by those of groups of at least k similar records.",
    about="Numbers get the group's mean, ordinal columns its median, nominal columns its most frequent value. Without "
    "--quasi, Shoal protects every column without a role.",
    promise="Every record shares its values in the protected columns with at least k - 1 others.",
    limits=(
        ("Group means are exact.", "All but one member of a group, together, can compute the last one's value."),
        (
            "Averages lie inside the data.",
            "Means are kept; variances shrink, and the largest and smallest values move towards the middle.",
        ),
    ),
    promises=(KAnonymity, LDiversity, TCloseness),
    methods=METHODS,
    roles=("quasi", "weight", "order"),
    place=1,
    on_files="leaves.protect",
    on_files_options=(
        *("k", "method", "quasi", "aggregate", "round", "scaling", "importance", "effort", "leaf", "rounds"),
        *("leaves_above", "seed"),
    ),
)
DECLARED = (MICROAGGREGATE,)


@MICROAGGREGATE.declares
def microaggregate(
    data: Any,
    k: Annotated[int, Option("Smallest number of records in a group.", 2, flag="-k")],
    *,
    method: Annotated[str, Option("Method that finds the groups.", choices=names(METHODS))] = "auto",
    quasi: Columns = (),
    within: Annotated[Sequence[str], Option("Columns that are constant within every group; they stay unchanged.")] = (),
    aggregate: Annotated[Literal["mean", "median"], Option("Value that replaces the numbers of a group.")] = "mean",
    round: Annotated[bool, Option("Keep integer columns integers.")] = False,
    scaling: Annotated[
        Scaling,
        Option("Scale of the columns in distances. standard: variance 1. minmax: range 1. none: the original scale."),
    ] = "standard",
    importance: Annotated[
        Mapping[str, float] | None,
        Option("Weight of columns in the distance.", typed="For example age=2,sex=0.5.", spelling=NumberPerColumn()),
    ] = None,
    loss: Annotated[
        LossName,
        Option(
            "Loss of the search. changes: changed labels, rank distances of ordinal columns and squares of numbers. "
            "gini: sums of squares, with an indicator per label.",
            of=SEARCHES,
            absent_in_recipe="gini",
        ),
    ] = "changes",
    l: Annotated[Any, option_of(RequiredL, SEARCHES)] = None,  # noqa: E741
    t: Annotated[float | None, option_of(RequiredT, SEARCHES)] = None,
    distance: Annotated[Distance, option_of(DistanceOfT, SEARCHES)] = "equal",
    refine: Annotated[bool, Option("Improve the method's groups by local search.")] = False,
    bound: Annotated[bool, Option("Certify how far from the optimum the groups can be.")] = False,
    bound_seconds: Annotated[float, Option("Time limit of the bound.", 0, unit="s", needs="bound")] = 60.0,
    missing: Missing = "error",
    effort: Annotated[Effort, Option("Search budget: more work, less information loss.", of=SEARCHES)] = "standard",
    seconds: Annotated[
        float | None,
        Option("Time limit of the search; the best groups so far are used.", 0, unit="s", of=(*SEARCHES, "exact")),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        Option("Save the state of the search to FILE regularly.", of=SEARCHES, writes=True, in_recipe=False),
    ] = None,
    resume: Annotated[
        bool, Option("Continue from the checkpoint.", of=SEARCHES, needs="checkpoint", in_recipe=False)
    ] = False,
    remainder: Annotated[
        Remainder, Option("Rule for the last records. All rules keep groups of k, except thesis.", of=("mdav",))
    ] = "standard",
    metric: Annotated[
        Literal["euclidean", "l1"],
        Option("Distance between records: Euclidean, or the sum of absolute differences (l1).", of=("mdav",)),
    ] = "euclidean",
    engine: Annotated[Engine, Option("Algorithm; it affects the speed only.", of=("mdav",))] = "auto",
    gamma: Annotated[
        float | str,
        Option(
            "Tendency of a group to grow beyond k, a number from 0, or auto.",
            0,
            of=("vmdav",),
            spelling=Either((Word(("auto",)), Number()), hint="X|auto"),
        ),
    ] = "auto",
    split: Annotated[bool, Option("Split trees of 2k or more records.", of=("mst",))] = True,
    path_order: Annotated[
        PathOrder,
        Option(
            "Order in which the records are cut. tour: a short tour. nearest: always the nearest record next. mdav: "
            "the groups of MDAV.",
            of=("path",),
            former="order",
        ),
    ] = "tour",
    population: Annotated[int, Option("Number of chromosomes.", 2, of=EVOLUTION)] = 100,
    generations: Annotated[
        int | None, Option("Number of generations.", 0, of=EVOLUTION, default_text="by the number of records")
    ] = None,
    mutation_rate: Annotated[float, share("Probability that a gene mutates.", EVOLUTION)] = 0.1,
    crossover_rate: Annotated[float, share("Probability that two parents exchange genes.", EVOLUTION)] = 0.3,
    crossover: Annotated[
        Literal["one-point", "two-point", "uniform"],
        Option("Genes that parents exchange: those behind one cut, between two, or each at even odds.", of=EVOLUTION),
    ] = "one-point",
    selection: Annotated[
        Literal["roulette", "tournament", "rank"],
        Option(
            "Selection of parents. roulette: by fitness. tournament: the better of two. rank: by the rank of the "
            "fitness.",
            of=EVOLUTION,
        ),
    ] = "roulette",
    inversion: Annotated[float, share("Share of children in which a segment is reversed.", EVOLUTION)] = 0.0,
    macro_size: Annotated[
        int | None, Option("Records per macro-group, a multiple of k.", of=("hybrid",), default_text="4k")
    ] = None,
    macro_split: Annotated[MacroSplit, Option("Rule that forms the macro-groups.", of=("hybrid",))] = "two-step",
    heuristic: Annotated[Heuristic, Option("Method that forms the first groups.", of=("hybrid",))] = "mdav",
    runs: Annotated[
        int | None,
        Option(
            "Populations per macro-group; they share the generations.",
            1,
            of=("hybrid",),
            default_text="5 up to 20 records, 1 above",
        ),
    ] = None,
    leaf: LeafRecords = 200_000,
    rounds: LeafRounds = 1,
    leaves_above: Annotated[
        int,
        Option(
            "Cells (rows times columns) of a single file above which the command searches it in leaves, as a folder.",
            1,
            on_files=True,
        ),
    ] = 100_000_000,
    start: Annotated[
        Any, Option("A partition among the first chromosomes.", of=("genetic",), on_command_line=False)
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "Release":
    """Replace the quasi-identifiers of each record by the values of its group of at least k records.

    Numbers get the group's mean, ordinal columns the median, nominal columns the mode. Without `quasi`, Shoal protects
    the quasi-identifiers of the table, or every column without a role.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 25, 31, 60, 62, 65], "sex": ["f", "f", "m", "m", "m", "m"]})
    >>> microaggregate(frame, k=3).table.rows()[2:4]
    [(26.333333333333332, 'f'), (62.333333333333336, 'm')]
    """
    options = MICROAGGREGATE.method_options(method, locals())
    from shoal.protections.class_rules import Confidentiality
    from shoal.protections.microaggregation.protect import Objective, Replacing, Search, protect

    rules = Confidentiality(options.pop("l", None), options.pop("t", None), options.pop("distance", "equal"))
    objective = Objective(options.pop("loss", "gini"), rules)
    search = Search(method, k, options, refine, bound, bound_seconds, seed)
    replacing = Replacing(within, aggregate, round, scaling, importance, missing)
    return protect(data, search, replacing, quasi, objective)
