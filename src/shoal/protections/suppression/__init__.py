"""Cell suppression: single cells are replaced by a star until every record hides among at least k.

This is the declaration of `shoal.suppress` (see `shoal.protections.protection`); the work is done in `protect`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shoal.engine.progress import Progress, silent
from shoal.gate.promises import EverySubset, KAnonymity, KOfStars, OnlyStars, Reading
from shoal.protections.parameters import Columns, ColumnSets, Effort, Seed, Threads
from shoal.protections.protection import Option, Protection
from shoal.spelling import NumberPerColumn

if TYPE_CHECKING:
    from shoal.engine.control import Control
    from shoal.protections.suppression.release import SuppressedRelease

NEVER = "never"

SUPPRESS = Protection(
    name="suppress",
    title="Cell suppression",
    example="shoal suppress survey.csv -k 5 --roles roles.toml -o release.csv",
    summary="Replace single cells by a star, so that every record hides among at least k.",
    about="Every other cell keeps its original value: the release is true or blank.",
    promise="Every record has the same quasi-identifiers, stars included, as at least k - 1 others.",
    limits=(
        (
            "Stars are not random.",
            "Rare values are starred more often than common ones, so frequencies in the release are biased. The "
            "report shows the share of stars by column and value.",
        ),
        (
            "A value that is not starred is true.",
            "An intruder who links a record by other means learns all its remaining values.",
        ),
    ),
    promises=(KAnonymity, KOfStars, EverySubset, OnlyStars),
    on_files="files",
    on_files_options=("k", "quasi", "sets", "star", "subsets", "within", "importance", "missing", "effort", "seed"),
    place=5,
)
DECLARED = (SUPPRESS,)


@SUPPRESS.declares
def suppress(
    data: Any,
    k: Annotated[int, Option("Smallest number of records that look the same.", 2, flag="-k")],
    *,
    quasi: Columns = (),
    sets: ColumnSets = None,
    star: Annotated[
        Reading,
        Option(
            "Reading of a star. value: a star only equals a star, which is stricter. wildcard: it equals every value."
        ),
    ] = "value",
    subsets: Annotated[
        int | None,
        Option(
            "Largest number of columns in a combination. k holds for each combination, not over all columns.",
            1,
            excludes="sets",
        ),
    ] = None,
    within: Annotated[
        Sequence[str],
        Option(
            "Columns that are never starred; the records of each combination of their values are a file of their own."
        ),
    ] = (),
    importance: Annotated[
        Mapping[str, float | str] | None,
        Option(
            f"Cost of a star in a column: above 0, or {NEVER}. It is 1 in the others.",
            typed=f"For example age=3,sex={NEVER}.",
            spelling=NumberPerColumn(f"COLUMN=X|{NEVER},…", (NEVER,)),
        ),
    ] = None,
    missing: Annotated[
        Literal["value", "drop", "error"],
        Option("Handling of missing values. value: a value of their own. drop: remove the records. error: stop."),
    ] = "value",
    effort: Annotated[Effort, Option("Search budget: more work, fewer stars.")] = "standard",
    threads: Threads = None,
    seed: Seed = 0,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "SuppressedRelease":
    """Replace as few cells of the quasi-identifiers as possible by a star, so that k holds.

    A column with a star becomes text; a column without one keeps its type. Missing cells stay missing, and a missing
    cell can be starred. With importance, the search minimizes the cost of the stars instead of their number. The
    release has k by both readings of a star among its facts. With subsets, a combination with a star or a missing cell
    is absent, and every other combination of up to M columns occurs at least k times.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 23, 31, 31], "town": ["a", "a", "b", "c"]})
    >>> suppress(frame, k=2, quasi=["age", "town"]).table["town"].to_list()
    ['a', 'a', '*', '*']
    """
    from shoal.protections.suppression.protect import StarGoal, protect

    return protect(data, quasi, StarGoal(k, sets, star, subsets, within, importance or {}, missing), effort, seed)
