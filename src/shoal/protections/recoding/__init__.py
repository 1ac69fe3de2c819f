"""Local recoding: each group of at least k records gets its own intervals and sets of values.

This is the declaration of `shoal.recode` (see `shoal.protections.protection`); the work is done in `protect`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shoal.engine.progress import Progress, silent
from shoal.gate.promises import Bounds, KAnonymity, LDiversity, TCloseness
from shoal.protections.parameters import (
    Columns,
    ColumnSets,
    DistanceOfT,
    Effort,
    LabelLength,
    LeafRecords,
    LeafRounds,
    RequiredL,
    RequiredT,
    Seed,
    Taxonomies,
    Threads,
)
from shoal.protections.protection import Method, Option, Protection, names
from shoal.spelling import ByColumn, NumberPerColumn, Numbers

if TYPE_CHECKING:
    from shoal.engine.control import Control
    from shoal.protections.recoding.release import RecodedRelease

METHODS = (
    Method("search", "Groups that are rebuilt again and again, for the least loss"),
    Method("topdown", "Cuts in two, each at the cut of least loss; quick"),
    Method("mondrian", "Strict Mondrian: cuts at the median of the widest column; the quickest"),
    Method("peel", "For taxonomies: the cheapest generalization whose classes have k records, again and again"),
)
SEARCH = ("search",)

RECODE = Protection(
    name="recode",
    title="Local recoding",
    example="shoal recode survey.csv -k 5 --roles roles.toml -o release.csv",
    summary="Replace values by intervals and sets of values, different ones in each group of at least k records.",
    about=(
        "Every value stays true, but becomes coarser: 34 becomes [30-37]. One group may have other intervals than "
        "another, so much less detail is lost than by one generalization for the whole file."
    ),
    promise="Every record has the same quasi-identifiers as at least k - 1 others, unless it is suppressed.",
    limits=(
        (
            "Categories still narrow a value down.",
            "A class hides which record belongs to whom. It does not hide that each value lies in the published "
            "category.",
        ),
        (
            "Categories overlap.",
            "The interval of one group may overlap that of another. A table of counts per category needs care: use "
            "shoal generalize if all records must have the same categories.",
        ),
    ),
    promises=(KAnonymity, LDiversity, TCloseness, Bounds),
    roles=("quasi", "weight", "order"),
    on_files="leaves.protect",
    on_files_options=(
        "k",
        "quasi",
        "loss",
        "taxonomy",
        "steps",
        "round_ends",
        "importance",
        "style",
        "labels",
        "l",
        "t",
        "distance",
        "missing",
        "method",
        "effort",
        "leaf",
        "rounds",
        "seed",
    ),
    methods=METHODS,
    files=(("legend", "save_legend", "Write the values of every cut label here (CSV). Publish it with the release."),),
    place=2,
)
DECLARED = (RECODE,)


@RECODE.declares
def recode(
    data: Any,
    k: Annotated[int, Option("Smallest number of records in a class.", 2, flag="-k")],
    *,
    quasi: Columns = (),
    sets: ColumnSets = None,
    loss: Annotated[
        Literal["sets", "nodes"] | None,
        Option(
            "What a group may cover: any interval or set of values, or only nodes of taxonomies.",
            default_text="nodes with --taxonomy or --steps, else sets",
        ),
    ] = None,
    taxonomy: Taxonomies = None,
    steps: Annotated[
        Mapping[str, Sequence[float]] | None,
        Option(
            "Widths of the intervals of a number, level by level, as its taxonomy.",
            typed="For example age=5,10,20.",
            spelling=ByColumn(Numbers()),
        ),
    ] = None,
    round_ends: Annotated[
        Mapping[str, float] | None,
        Option(
            "Round the ends of intervals outward to multiples of a step.",
            typed="For example age=5.",
            spelling=NumberPerColumn(),
        ),
    ] = None,
    importance: Annotated[
        Mapping[str, float] | None,
        Option("Weight of columns in the loss.", typed="For example age=2,sex=1.", spelling=NumberPerColumn()),
    ] = None,
    style: Annotated[
        Literal["text", "bounds", "mean"],
        Option(
            "How values are written. text: intervals and sets. bounds: two columns for a number or a date, such as "
            "age_lower and age_upper, and sets as text. mean: the mean or the most frequent value of the group."
        ),
    ] = "text",
    labels: LabelLength = "short",
    suppress: Annotated[
        float, Option("Share of records that may be suppressed, below 1.", 0, 1, excludes="sets")
    ] = 0.0,
    l: RequiredL = None,  # noqa: E741
    t: RequiredT = None,
    distance: DistanceOfT = "equal",
    bound: Annotated[
        bool, Option("Also compute a lower bound of the loss. It compares all pairs of records.", excludes="sets")
    ] = False,
    front: Annotated[
        bool,
        Option(
            "Also recode for multiples of k, higher l and fewer suppressed records, and show what each costs.",
            excludes="checkpoint",
        ),
    ] = False,
    pick: Annotated[
        int | None,
        Option("Number of the solution of the Pareto front to take.", needs="front", default_text="the least loss"),
    ] = None,
    missing: Annotated[
        Literal["category", "drop", "error"],
        Option("Handling of missing values. category: a value of its own. drop: remove the records. error: stop."),
    ] = "category",
    method: Annotated[str, Option("Method that forms the groups.", choices=names(METHODS))] = "search",
    effort: Annotated[Effort, Option("Search budget: more work, less loss.", of=SEARCH)] = "standard",
    seconds: Annotated[
        float | None, Option("Time limit: return the best result so far.", 0, unit="s", of=SEARCH)
    ] = None,
    checkpoint: Annotated[
        Path | None,
        Option(
            "Write the state of the search to this file.", of=SEARCH, excludes="suppress", writes=True, in_recipe=False
        ),
    ] = None,
    resume: Annotated[
        bool, Option("Continue from the checkpoint.", of=SEARCH, needs="checkpoint", in_recipe=False)
    ] = False,
    leaf: LeafRecords = 200_000,
    rounds: LeafRounds = 1,
    seed: Seed = 0,
    threads: Threads = None,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "RecodedRelease":
    """Replace the quasi-identifiers of each group of at least k records by intervals and sets of values.

    A number or a date becomes the interval of its group, a name the set of names, or the lowest node of a taxonomy that
    covers the group. Records stay as they are if at least k of them have the same values. With sets, k holds
    over each set of columns; sets that share a column are recoded together. suppress is the share of records that may
    be suppressed: Shoal suppresses no record or at least k. l may be a number, ("entropy", l) or ("recursive", c, l).

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 25, 31, 60, 62, 65], "town": ["a", "a", "b", "c", "c", "d"]})
    >>> recode(frame, k=3, quasi=["age", "town"]).table.rows()[2:4]
    [('[23-31]', 'a | b'), ('[60-65]', 'c | d')]
    """
    from shoal.protections.class_rules import Confidentiality
    from shoal.protections.recoding.columns import ColumnOptions
    from shoal.protections.recoding.protect import CellOptions, RecodingSearch, protect

    kind = loss or ("nodes" if taxonomy or steps else "sets")
    return protect(
        data,
        k,
        quasi,
        ColumnOptions(kind, taxonomy, steps, round_ends, importance),
        Confidentiality(l, t, distance),
        RecodingSearch(method, effort, seconds, checkpoint, resume, seed, bound),
        CellOptions(style, labels == "full", suppress, missing),
        sets=sets,
        front=front,
        pick=pick,
    )
