"""Group anonymity: swaps between regions that hide where the target group is concentrated (Chertov and Tavrov 2017).

This is the declaration of `shoal.mask_group` (see `shoal.protections.protection`); the work is done in `protect`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from shoal.engine.progress import Progress, silent
from shoal.gate.promises import Masked, SameValues, SignalKind
from shoal.protections.parameters import Seed, share
from shoal.protections.protection import Method, Option, Protection, names
from shoal.protections.regions.choices import RestrictionShape, Side, ThresholdRule
from shoal.spelling import ColumnValues, Names, NumberPerColumn, Numbers, Word

if TYPE_CHECKING:
    from shoal.engine.control import Control
    from shoal.protections.regions.release import GroupRelease

METHODS = (
    Method("flow", "The swaps with the lowest distortion, and a lower bound of it"),
    Method("memetic", "The published memetic algorithm; it needs --settings published"),
)
FLOW, MEMETIC = ("flow",), ("memetic",)
ALPHAS = (0.001, 0.005, 0.01, 0.02, 0.05)
# Thresholds of compatibility and distortion, by settings.
THRESHOLDS = {"hiding": (0.95, 0.5), "published": (0.5, 0.3)}
TargetGroup = tuple[str, Sequence[Any]]

MASK = Protection(
    name="mask",
    title="Group anonymity",
    example="shoal mask survey.csv --roles roles.toml --vital diagnosis=depression --parameter district "
    "--influential age,sex --accept-k 1 -o release.csv",
    summary="Hide where a group of people is concentrated, by swapping records between regions.",
    about="Only the regions of swapped records change.",
    promise="No region in which the target group was concentrated is an outlier or the largest region afterwards, and "
    "there is no new outlier. With --settings published, no original outlier is an outlier at one alpha in one signal.",
    limits=(
        (
            "Masking hides a group, not a person.",
            "Records keep all their other values. An intruder can still find a record that is unique in them.",
        ),
        (
            "Masking hides this group only.",
            "Other groups are as concentrated as before, and other columns may show where this group was.",
        ),
    ),
    promises=(SameValues, Masked),
    methods=METHODS,
    roles=(),
    files=(("swaps", "save_swaps", "Write the list of swaps to FILE (CSV)."),),
    hides_records=False,
    draws_from_secret=True,
    place=7,
    instead_of_files="Swaps need all regions at once: put the columns of the target group, of the regions and of the "
    "matching columns into one file.",
)
DECLARED = (MASK,)


@MASK.declares
def mask_group(
    data: Any,
    *,
    vital: Annotated[TargetGroup, Option("Target group: a column and its values.", spelling=ColumnValues())],
    parameter: Annotated[str, Option("Column of the regions.", spelling=Word(hint="COLUMN"))],
    influential: Annotated[Sequence[str], Option("Matching columns, in which swapped records should agree.")],
    ordinal: Annotated[Sequence[str], Option("Matching columns that are numbers; the others are categories.")] = (),
    weights: Annotated[
        Mapping[str, float] | None,
        Option(
            "Weights of the matching columns.",
            typed="For example age=2,sex=0.5.",
            spelling=NumberPerColumn(),
            default_text="1 for each",
        ),
    ] = None,
    chi: Annotated[
        tuple[float, float], Option("Cost of equal and of unequal categories.", spelling=Numbers(count=2, hint="X,Y"))
    ] = (0.0, 1.0),
    along: Annotated[Sequence[str], Option("Columns tied to the region that are swapped together with it.")] = (),
    settings: Annotated[
        Literal["hiding", "published"],
        Option(
            "Aim of the search. hiding: no outlier at any of the alphas in any signal. published: as in the "
            "publication, at one alpha in one signal."
        ),
    ] = "hiding",
    method: Annotated[str, Option("Search method.", choices=names(METHODS))] = "flow",
    signal: Annotated[
        SignalKind,
        Option("Signal to test for outliers: counts, shares, or the difference of the shares of two groups."),
    ] = "quantity",
    second: Annotated[
        TargetGroup | None, Option("Second group of the difference: a column and its values.", spelling=ColumnValues())
    ] = None,
    outliers: Annotated[
        Sequence[Any] | None, Option("Regions to mask.", spelling=Names(), default_text="found by the tau test")
    ] = None,
    thresholds: Annotated[
        Sequence[float] | None,
        Option("New signal values of the named outliers, one per region.", needs="outliers", spelling=Numbers()),
    ] = None,
    nth: Annotated[int, Option("Automatic threshold: the nth largest ordinary value.", 1, excludes="thresholds")] = 1,
    rule: Annotated[
        ThresholdRule,
        Option(
            "Automatic threshold. largest: the nth largest ordinary value. below: that value minus a fifth of its "
            "distance to the outlier.",
            excludes="thresholds",
        ),
    ] = "largest",
    restriction: Annotated[
        RestrictionShape,
        Option(
            "How compatibility falls above the threshold. zmf: in a smooth curve. linear: in a straight line. step: "
            "at once."
        ),
    ] = "zmf",
    root: Annotated[bool, Option("Compute compatibility as printed in the publication, with a square root.")] = False,
    alpha: Annotated[float, share("Level of the tau test that finds the original outliers.")] = 0.01,
    alphas: Annotated[
        Sequence[float], Option("Levels of the tau test at which the group is hidden.", spelling=Numbers())
    ] = ALPHAS,
    side: Annotated[
        Side, Option("Side of the tau test. upper: only values above the median can be outliers.")
    ] = "both",
    compatibility: Annotated[
        float | None,
        Option("Smallest compatibility that a solution may have.", 0, 1, default_text="0.95, published: 0.5"),
    ] = None,
    sensitivity: Annotated[float, share("Share of the outliers that may stay, with the published settings.")] = 0.0,
    distortion: Annotated[
        float | None,
        Option("Largest allowed distortion, as a share of the worst one.", 0, 1, default_text="0.5, published: 0.3"),
    ] = None,
    decoys: Annotated[int, Option("Number of ordinary regions, drawn at random, that become outliers.", 0)] = 0,
    pick: Annotated[
        int | None,
        Option(
            "Number of the solution to take, by distortion.",
            default_text="the best protection at slightly more than the lowest distortion, published: 1",
        ),
    ] = None,
    budget: Annotated[
        int | None, Option("Number of modified signals to try.", 1, of=FLOW, default_text="60, published: 400")
    ] = None,
    steps: Annotated[
        int | None,
        Option("Work on the stronger lower bound of the distortion.", 0, of=FLOW, default_text="0, published: 20000"),
    ] = None,
    runs: Annotated[int, Option("Number of runs.", 1, of=MEMETIC)] = 10,
    generations: Annotated[int, Option("Generations per run.", 1, of=MEMETIC)] = 1000,
    population: Annotated[int, Option("Number of individuals.", 2, of=MEMETIC)] = 100,
    pairs: Annotated[int, Option("Pairs of parents per generation.", 1, of=MEMETIC)] = 40,
    tournament: Annotated[int, Option("Size of a tournament.", 1, of=MEMETIC)] = 5,
    recombination: Annotated[float, share("Probability of a recombination.", MEMETIC)] = 1.0,
    mutation: Annotated[float, share("Probability that a gene mutates.", MEMETIC)] = 0.001,
    p_mem: Annotated[float, share("Probability that the partner, not the target record, is replaced.", MEMETIC)] = 0.75,
    uniform: Annotated[
        float, Option("Standard deviation of the fitness below which mutation rises.", 0, of=MEMETIC)
    ] = 0.03,
    boost: Annotated[float, Option("Factor by which mutation rises.", 0, of=MEMETIC)] = 10.0,
    centre: Annotated[
        float | None,
        Option(
            "Number of swaps at which the penalty is one half.",
            of=MEMETIC,
            default_text="0.915 of the records that can move",
        ),
    ] = None,
    tau: Annotated[bool, Option("Use the tau test as a factor of the fitness.", of=MEMETIC)] = False,
    flow_seeds: Annotated[bool, Option("Start with solutions of flow.", of=MEMETIC)] = False,
    seed: Seed = 0,
    secret: str | None = None,
    threads: Annotated[int, Option("Number of runs at the same time; the result is the same.", 1, in_recipe=False)] = 1,
    progress: Progress = silent,
    control: "Control | None" = None,
) -> "GroupRelease":
    """Swap the regions of target records with those of similar other records, so that no outlier region is left.

    With `settings="hiding"`, original outliers are neither outliers nor the largest regions at any of `alphas` in any
    signal, and there is no new outlier. With `settings="published"` (Chertov and Tavrov 2017), no original outlier is
    an outlier at `alpha` in one signal. The memetic method needs the published settings. `compatibility`,
    `sensitivity` and `distortion` decide whether a solution is feasible.
    """
    options = {name: value for name, value in MASK.method_options(method, locals()).items() if value is not None}
    from shoal.protections.regions.parameters import Aim, Matching, OutlierChoice, Searching, Target
    from shoal.protections.regions.protect import protect
    from shoal.protections.regions.task import MaskingLimits

    usual_compatibility, usual_distortion = THRESHOLDS[settings]
    limits = MaskingLimits(
        usual_compatibility if compatibility is None else compatibility,
        sensitivity,
        usual_distortion if distortion is None else distortion,
        alpha,
        side,
    )
    return protect(
        data,
        Target(vital, parameter, tuple(along), signal, second),
        Matching(tuple(influential), tuple(ordinal), dict(weights or {}), chi),
        OutlierChoice(outliers, thresholds, nth, rule, restriction, root),
        limits,
        Aim(settings, alphas, decoys, pick),
        Searching(method, options, seed, secret),
    )
