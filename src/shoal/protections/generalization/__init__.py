"""Generalization: values are replaced by categories until every class has at least k records.

These are the declarations of `shoal.generalize` and `shoal.apply_mapping` (see `shoal.protections.protection`); the
work is done in `protect`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shoal.engine.progress import Progress, silent
from shoal.gate.promises import KAnonymity, LDiversity, TCloseness
from shoal.protections.parameters import (
    Columns,
    ColumnSets,
    DistanceOfT,
    Effort,
    LabelLength,
    RequiredL,
    RequiredT,
    Seed,
    Taxonomies,
)
from shoal.protections.protection import Method, Option, Protection, names
from shoal.spelling import (
    ByColumn,
    Either,
    FilePath,
    Names,
    Number,
    NumberPerColumn,
    Numbers,
    Word,
)
from shoal.table.choices import ORDERS, UNITS

if TYPE_CHECKING:
    from shoal.engine.control import Control
    from shoal.protections.generalization.release import GeneralizedRelease

METHODS = (
    Method("search", "Annealing over the categories of all columns, for the best balance of loss and bias"),
    Method("nsga2", "The published genetic algorithm for several objectives (NSGA-II)"),
    Method("exact", "The best categories of a small table, proved by branch and bound"),
)
LIMITS = (
    (
        "Categories still narrow a value down.",
        "A class hides which record belongs to whom. It does not hide that each value lies in the published category.",
    ),
)

GENERALIZE = Protection(
    name="generalize",
    title="Generalization",
    example="shoal generalize survey.csv -k 5 --roles roles.toml -o release.csv",
    summary="Replace values by categories, so that every class has at least k records.",
    about="A category is an interval of numbers or dates, a node of a taxonomy, or a list of names.",
    promise="Every record has the same quasi-identifiers as at least k - 1 others, unless it is suppressed.",
    limits=LIMITS,
    promises=(KAnonymity, LDiversity, TCloseness),
    methods=METHODS,
    files=(
        ("mapping", "save_mapping", "Write the mapping of values to categories to FILE (JSON)."),
        ("legend", "save_legend", "Write the values of every category to FILE (CSV). Publish it with the release."),
    ),
    place=3,
    on_files="files",
    on_files_options=(
        *("k", "quasi", "sets", "granularity", "cuts", "order", "taxonomy", "free_cuts", "show_extremes", "labels"),
        *("prefer", "weights", "suppress", "l", "t", "distance", "method", "effort", "population", "evaluations"),
        *("crossover", "mutation", "published", "pick", "missing", "seed"),
    ),
)
APPLY = Protection(
    name="apply",
    title="Generalization by a given mapping",
    summary="Replace values by the categories of an earlier release.",
    about="Apply a mapping that --mapping wrote, instead of searching for categories.",
    promise="Every value becomes its category in the mapping. Shoal measures k and does not guarantee it.",
    limits=LIMITS,
    promises=(KAnonymity,),
    part_of="generalize",
    place=4,
    instead_of_files="Apply the mapping to one file after the other, and count k over all of them with shoal check.",
)
DECLARED = (GENERALIZE, APPLY)


def _mapping_table(mapping: Any) -> dict[str, Any]:
    """Return the mapping as a table: a recipe holds what its file holds."""
    from shoal.protections.generalization.mapping import read_mapping

    return read_mapping(mapping).as_dict()


@GENERALIZE.declares
def generalize(
    data: Any,
    k: Annotated[int, Option("Smallest number of records in a class.", 2, flag="-k")],
    *,
    quasi: Columns = (),
    sets: ColumnSets = None,
    granularity: Annotated[
        Mapping[str, float | str | Sequence[float]] | None,
        Option(
            "Step of a number, or step, low and high, or unit of a date (day, month, quarter, year).",
            typed="For example age=5, age=5:0:100 or born=month.",
            spelling=ByColumn(Either((Word(UNITS), Number(), Numbers(":", 3)), hint="STEP[:LOW:HIGH]|UNIT")),
        ),
    ] = None,
    cuts: Annotated[
        Mapping[str, Sequence[float]] | None,
        Option("Cut points of a number.", typed="For example age=18,30,65.", spelling=ByColumn(Numbers())),
    ] = None,
    order: Annotated[
        str | Mapping[str, Any] | None,
        Option(
            f"Order of names, for all columns or for one: {', '.join(ORDERS)}. For one column also its names or codes "
            "in order.",
            typed="For example size=s,m,l.",
            spelling=Either(
                (ByColumn(Either((Word(ORDERS), Names()))), Word(ORDERS)), hint="NAME|COLUMN=NAME|COLUMN=A,B,…"
            ),
        ),
    ] = None,
    taxonomy: Taxonomies = None,
    free_cuts: Annotated[
        bool,
        Option("Let neighbouring leaves of a taxonomy form a category that is not one of its nodes.", needs="taxonomy"),
    ] = False,
    show_extremes: Annotated[
        bool, Option("Show the smallest and the largest value of numbers and dates in the labels.")
    ] = False,
    labels: LabelLength = "short",
    prefer: Annotated[
        tuple[float, float],
        Option("Preferred loss (NWP) and bias (NECD), each 0 to 1.", spelling=Numbers(count=2, hint="LOSS,BIAS")),
    ] = (0.2, 1.0),
    weights: Annotated[
        Mapping[str, float] | None,
        Option("Weight of columns in the loss.", typed="For example age=2,sex=1.", spelling=NumberPerColumn()),
    ] = None,
    suppress: Annotated[float, Option("Share of records that may be suppressed, below 1.", 0, 1)] = 0.0,
    l: RequiredL = None,  # noqa: E741
    t: RequiredT = None,
    distance: DistanceOfT = "equal",
    method: Annotated[str, Option("Method that finds the categories.", choices=names(METHODS))] = "search",
    effort: Annotated[Effort, Option("Search budget: more work, less loss.", of=("search",))] = "standard",
    population: Annotated[int, Option("Size of the population.", 2, of=("nsga2",))] = 100,
    evaluations: Annotated[int, Option("Number of evaluations.", 2, of=("nsga2",))] = 50_000,
    crossover: Annotated[float, Option("Probability that two parents cross over.", 0, 1, of=("nsga2",))] = 0.8,
    mutation: Annotated[float, Option("Probability that a bit flips.", 0, 1, of=("nsga2",))] = 0.001,
    published: Annotated[
        bool,
        Option("Run the algorithm as published: duplicates of a solution stay in the population.", of=("nsga2",)),
    ] = False,
    pick: Annotated[
        int | None, Option("Number of the solution of the Pareto front to take.", default_text="the best")
    ] = None,
    missing: Annotated[
        Literal["category", "alone", "drop", "error"],
        Option(
            "Handling of missing values. category: they may join any category. alone: they are a category of their "
            "own. drop: remove the records. error: stop."
        ),
    ] = "category",
    seed: Seed = 0,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "GeneralizedRelease":
    """Replace the values of the quasi-identifiers by categories, so that every class has at least k records.

    Shoal does not generalize a column that is in none of the `sets`, but still counts it as known to an intruder. A
    number without a granularity or cut points may be cut between any two of its values. `order` may be auto (any
    values may form a category), alphabetical, frequency, taxonomy, codes or a list of values, for all columns or by
    column. `taxonomy` maps each column to a file or to nested dictionaries; its nodes are the categories. Shoal
    suppresses no record, or at least k records. `l` may be a number, ("entropy", l) or ("recursive", c, l).

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 25, 31, 60, 62, 65], "town": ["a", "a", "b", "c", "c", "c"]})
    >>> generalize(frame, k=3, quasi=["age", "town"]).table["age"].to_list()
    ['<= 31', '<= 31', '<= 31', '>= 60', '>= 60', '>= 60']
    """
    from shoal.protections.class_rules import Confidentiality
    from shoal.protections.generalization.columns import DomainOptions
    from shoal.protections.generalization.nsga2 import Nsga2Settings
    from shoal.protections.generalization.protect import Goal, Searching, protect

    return protect(
        data,
        quasi,
        Goal(k, sets, prefer, weights, suppress, pick, labels == "full"),
        DomainOptions(granularity, cuts, order, taxonomy, free_cuts, show_extremes, missing),
        Confidentiality(l, t, distance),
        Searching(method, effort, Nsga2Settings(population, evaluations, crossover, mutation, published), seed),
    )


@APPLY.declares
def apply_mapping(
    data: Any,
    mapping: Annotated[
        Any,
        Option(
            "Mapping of an earlier generalization: its file, or the content of that file.",
            spelling=FilePath(),
            recorded=_mapping_table,
        ),
    ],
    *,
    seed: Seed = 0,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "GeneralizedRelease":
    """Generalize new data by the mapping of an earlier release. Shoal measures k and does not guarantee it.

    The seed only affects the order of the rows, if they are shuffled.
    """
    from shoal.protections.generalization.protect import apply

    return apply(data, mapping)
