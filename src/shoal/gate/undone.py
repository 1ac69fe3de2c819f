"""Released columns that give a protected value away: a tax beside the income, a total beside its parts.

A column that was released unchanged is an intruder's regressor (Palley and Simonoff 1987, "The use of regression
methodology for the compromise of confidential information in statistical databases", ACM Transactions on Database
Systems 12). Four attacks on the original values: the nearest neighbour in one column; a label, or a pair of labels,
that determines the value; least squares on all numbers, trimmed where some records break the formula (Rousseeuw
1984); and a dependency of the original, such as the region of a district, that the release breaks.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.special import bdtrc

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import TEXT, codes, comparable, is_number, numbers

SAMPLE = 20_000  # beyond so many records a sample is predicted
WITHIN = 0.01  # a predicted number reveals the original within this part of it
SPREAD = 0.02  # and within this part of the standard deviation: 1 % of a year of birth would be two decades
ROUNDING = 1e-9  # in standard deviations: what floating-point arithmetic adds to an exact formula
MIN_SHARE = 0.2  # a column that reveals less of the values is not reported
MIN_GAIN = 0.25  # nor one that reveals less of what the release and a constant guess leave unknown
CHANCE = 1e-5  # probability of a finding among independent columns
PURE = 0.95  # a label determines a value that so many of its records have
HOLDS = 0.99  # a dependency holds where so many records keep it
FEW = 50  # a column with more distinct numbers is not treated as a label
REPEATED = 5  # records per distinct value; with fewer, equal values may be those of one household
RECORDS_PER_LABEL = 10  # on average, in a pair of labels
RECORDS_PER_TERM = 5  # in least squares
MAX_PAIRS = 1_000
MAX_TERMS = 200
MAX_NAMED = 20  # columns of one formula that are searched for the shortest list
QUICK = 4_000  # records that decide whether a full test is worth its time
TRIMS = 3  # refits on the half of the records with the smallest residuals
STRONGEST = 3  # findings per protected column
STAR = "*"
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f")
DAY = 86_400e6  # in microseconds
UNIT = r"(?:[€$£¥%]|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|JPY|kr|zł|Kč)?"
AMOUNT = rf"^{UNIT}\s*([+-]?(?:[0-9]{{1,3}}(?:[ .,'][0-9]{{3}})+|[0-9]+)(?:[.,][0-9]{{1,2}})?)\s*{UNIT}$"


@dataclass(frozen=True)
class GivenAway:
    """A protected column whose original values other released columns reveal.

    by: the columns that reveal them. way: neighbour, label, labels (a pair), least squares or dependency.
    share: of the records whose original value these columns reveal. release_share: of those that the release itself
    reveals. For a dependency, share counts the changed records whose change it betrays.
    """

    column: str
    by: tuple[str, ...]
    way: str
    share: float
    release_share: float


def given_away(
    before: pl.DataFrame,
    after: pl.DataFrame,
    protected: Sequence[str],
    unchanged: Sequence[str],
    *,
    accepted: Sequence[str] = (),
    ordered: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[GivenAway], int]:
    """The protected columns that unchanged ones give away, the strongest first, and the number of records predicted.

    The rows of both frames stand side by side. A finding is a share above 0.2 that closes more than a quarter of the
    gap left by the release, and by guessing the most common value for everybody.
    accepted: columns that may give values away. ordered: the values of ordinal columns in their order.
    """
    ordered = ordered or {}
    shuffled = np.random.default_rng(0).permutation(before.height)
    sampled = shuffled[:SAMPLE]
    truths = [_truth(before[name], after[name]) for name in protected]
    truths = [truth for truth in truths if truth.domain_size > 1]
    names = [name for name in dict.fromkeys(unchanged) if name not in {*accepted, *protected}]
    level = CHANCE / max(1, len(truths) * len(names))
    found: list[GivenAway] = []
    samples: list[_Source] = []
    for name in names if truths else []:
        source = _source(before[name], after[name], ordered.get(name))
        if source.is_constant:
            continue
        order = _in_order(source.values, shuffled)
        found += _by_one_column(source, order, truths, level)
        found += _by_dependency(source, truths, level)
        samples.append(source.at(sampled))
    samples = [sample for sample in samples if not sample.is_constant]
    truths = [truth.at(sampled) for truth in truths]
    found += _by_pairs(samples, truths, found)
    found += _by_least_squares(samples, truths)
    return _strongest(found), int(sampled.size)


# Columns as numbers


@dataclass(frozen=True, eq=False)
class _Truth:
    """A protected column: original and released values as numbers (codes of labels), NaN where a cell is missing.

    margin: the error up to which a prediction reveals the value.
    """

    name: str
    values: Floats
    released: Floats
    margin: Floats
    is_number: bool

    @cached_property
    def known(self) -> Bools:
        return ~np.isnan(self.values)

    @cached_property
    def has_gaps(self) -> bool:
        return not bool(self.known.all())

    @cached_property
    def domain_size(self) -> int:
        return int(np.unique(self.values[self.known]).size)

    @property
    def repeats(self) -> bool:
        """Whether equal values are common, and not only those of one household."""
        return self.domain_size * REPEATED <= int(self.known.sum())

    @property
    def is_few_valued(self) -> bool:
        return self.repeats and (not self.is_number or self.domain_size <= FEW)

    @cached_property
    def guess(self) -> float:
        """The share that one guess for all records reveals."""
        return _best_guess(self.values[self.known], self.margin[self.known])

    def least_agreement(self, unlabelled: int) -> float:
        """How many records with the same label must agree for the full test, where so many have no label.

        Without them the most common value may be rarer by as many.
        """
        records = float(self.known.sum())
        guess = max(0.0, self.guess * records - unlabelled) / max(1.0, records - unlabelled)
        return 0.8 * max(MIN_SHARE, guess + MIN_GAIN * (1 - guess))

    @cached_property
    def revealed(self) -> Bools:
        """Which values the release itself reveals."""
        with np.errstate(invalid="ignore"):
            return np.abs(self.released - self.values) <= self.margin

    def at(self, rows: Ints) -> _Truth:
        return _Truth(self.name, self.values[rows], self.released[rows], self.margin[rows], self.is_number)


@dataclass(frozen=True, eq=False)
class _Source:
    """An unchanged column as numbers (ranks of an ordinal, codes of a nominal), NaN where the release has no value."""

    name: str
    values: Floats
    kind: str  # number, ordinal or nominal

    @property
    def is_constant(self) -> bool:
        known = self.values[~np.isnan(self.values)]
        return known.size < 2 or bool((known == known[0]).all())

    def at(self, rows: Ints) -> _Source:
        return _Source(self.name, self.values[rows], self.kind)


def _truth(before: pl.Series, after: pl.Series) -> _Truth:
    kind = _kind(before)
    if kind == "label":
        both = pl.concat([_text(before), _text(after)])
        coded = np.where(both.is_null().to_numpy(), np.nan, codes(both).astype(np.float64))
        values, released = np.split(coded, [before.len()])
        return _Truth(before.name, values, released, np.zeros(before.len()), is_number=False)
    values, released = _read(before, kind), _read(after, kind)
    deviation = float(np.nanstd(values)) if not np.isnan(values).all() else 0.0
    margin = np.full(values.size, SPREAD * deviation)
    if kind == "number":  # a date has no zero to take a part from
        margin = np.fmin(margin, WITHIN * np.abs(values))
    return _Truth(before.name, values, released, np.maximum(margin, ROUNDING * deviation), is_number=True)


def _source(before: pl.Series, after: pl.Series, order: Sequence[str] | None) -> _Source:
    """The original values of an unchanged column where the release has them: suppressed cells are missing."""
    kind = _kind(before)
    if kind != "label":
        values, kind = _read(before, kind), "number" if order is None else "ordinal"
    elif order is not None:
        ranks = {value: float(rank) for rank, value in enumerate(order)}
        values = _text(before).replace_strict(ranks, default=None, return_dtype=pl.Float64).to_numpy()
        kind = "ordinal"
    else:
        text = _text(before)
        values, kind = np.where(text.is_null().to_numpy(), np.nan, codes(text)), "nominal"
    hidden = _text(after).is_null() if after.dtype in TEXT else after.is_null()
    return _Source(before.name, np.where(hidden.to_numpy(), np.nan, values), kind)


def _kind(column: pl.Series) -> str:
    """Number, date or label; text that holds only numbers or only dates counts as these."""
    if is_number(column) or column.dtype == pl.Boolean:
        return "number"
    if column.dtype.is_temporal():
        return "date"
    if column.dtype not in TEXT:
        return "label"
    text = _text(column).drop_nulls()
    for kind in ("number", "date") if text.len() else ():
        if all(not np.isnan(_read(part, kind)).any() for part in (text.head(100), text)):  # few cells settle most
            return kind
    return "label"


def _read(column: pl.Series, kind: str) -> Floats:
    """The numbers of a column, or its dates in days; NaN where a cell has another content."""
    if column.dtype in TEXT:
        text = _text(column)
        column = _amounts(text) if kind == "number" else _dates(text)
    if isinstance(column.dtype, pl.Datetime) or column.dtype == pl.Date:
        values = numbers(column.cast(pl.Datetime("us")).to_physical()) / DAY
    elif column.dtype.is_temporal():
        values = numbers(column.to_physical())
    elif is_number(column) or column.dtype == pl.Boolean:
        values = numbers(column)
    else:
        values = np.full(column.len(), np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _amounts(text: pl.Series) -> pl.Series:
    """Numbers in text: plain ones, or amounts with a currency, thousands separators or a decimal comma."""
    plain = text.cast(pl.Float64, strict=False)
    if plain.null_count() == text.null_count():
        return plain
    core = text.str.extract(AMOUNT)
    whole = core.str.replace(r"[.,][0-9]{1,2}$", "").str.replace_all(r"[^0-9+-]", "")
    cents = core.str.extract(r"[.,]([0-9]{1,2})$").fill_null("0")
    return (whole + "." + cents).cast(pl.Float64, strict=False)


def _dates(text: pl.Series) -> pl.Series:
    """Text as dates, in the format that most cells have."""
    read = [text.str.to_datetime(form, time_unit="us", strict=False) for form in DATES]
    return min(read, key=lambda column: column.null_count())


def _text(column: pl.Series) -> pl.Series:
    """A column as text, missing where a cell is missing, empty or suppressed."""
    text = comparable(column).cast(pl.String, strict=False)
    if column.dtype not in TEXT:
        return text
    bare = text.str.strip_chars()
    return bare.set(bare.is_in(["", STAR]).fill_null(False), None)


# What counts as a finding


@dataclass(frozen=True)
class _Attack:
    """The records that an attack could be tried on, the share of them whose value it reveals, and its evidence.

    hits of trials: independent predictions that were right, for the comparison with chance.
    """

    rows: Ints
    share: float
    hits: float
    trials: int


def _judged(truth: _Truth, attack: _Attack | None, by: Sequence[str], way: str, level: float) -> Iterator[GivenAway]:
    """A finding, where the attack reveals clearly more than the release, than a constant guess, and than chance."""
    if attack is None or attack.share <= MIN_SHARE:
        return
    release_share = float(truth.revealed[attack.rows].mean())
    guess = _best_guess(truth.values[attack.rows], truth.margin[attack.rows])
    already = max(release_share, guess)
    if attack.share - already <= MIN_GAIN * (1 - already):
        return
    if bdtrc(np.ceil(attack.hits) - 1, attack.trials, guess) < level:
        yield GivenAway(truth.name, tuple(by), way, float(attack.share), release_share)


def _best_guess(values: Floats, margin: Floats) -> float:
    """The share of values that one and the same guess for all records reveals."""
    order = np.argsort(values)
    ranked, reach = values[order], margin[order]
    inside = np.searchsorted(ranked, ranked + reach, "right") - np.searchsorted(ranked, ranked - reach, "left")
    return float(inside.max(initial=0)) / max(values.size, 1)


def _share(hits: Bools) -> float:
    return float(hits.mean()) if hits.size else 0.0


def _strongest(found: Sequence[GivenAway]) -> list[GivenAway]:
    """The best findings of each protected column, the best first; none that only adds columns to a better one."""
    kept: list[GivenAway] = []
    for finding in sorted(found, key=lambda finding: (-round(finding.share, 3), len(finding.by))):
        better = [set(other.by) for other in kept if other.column == finding.column]
        if len(better) < STRONGEST and not any(columns <= set(finding.by) for columns in better):
            kept.append(finding)
    return kept


# One column: the nearest neighbour, or the label


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Records, and for each the record nearest to it in a column, and those below and above it.

    weight: of the one above, in a straight line between the two. same: whether the nearest has the same value.
    """

    own: Ints
    nearest: Ints
    below: Ints
    above: Ints
    weight: Floats
    same: Bools


def _in_order(values: Floats, shuffled: Ints) -> Ints:
    """The rows that have a value, rising; equal values in random order, since the file may be sorted by another."""
    rows = shuffled[~np.isnan(values[shuffled])]
    return rows[np.argsort(values[rows], kind="stable")]


def _by_one_column(source: _Source, order: Ints, truths: Sequence[_Truth], level: float) -> Iterator[GivenAway]:
    if order.size < 2:
        return
    complete = _neighbours(order, source.values[order])
    domain_size = 1 + int((np.diff(source.values[order]) != 0).sum())
    for truth in truths:
        rows = order[truth.known[order]] if truth.has_gaps else order
        neighbours = _neighbours(rows, source.values[rows]) if truth.has_gaps else complete
        if source.kind == "nominal":
            if _agreeing(neighbours, truth) > truth.least_agreement(source.values.size - order.size):
                yield from _judged(truth, _determined(source.values, truth), (source.name,), "label", level)
            continue
        attack = _nearest(neighbours, truth)
        rare = not truth.repeats or domain_size * REPEATED > order.size
        if attack.share > MIN_SHARE and rare and domain_size < order.size:
            rows = _without_copies(rows, source.values, truth)
            attack = _nearest(_neighbours(rows, source.values[rows]), truth)
        yield from _judged(truth, attack, (source.name,), "neighbour", level)


def _without_copies(rows: Ints, values: Floats, truth: _Truth) -> Ints:
    """One row per pair of values, in the same order.

    Two rows of one household share its rent and its income: the rent then finds the other row, not the income.
    """
    ranked = rows[np.lexsort((truth.values[rows], values[rows]))]
    first = np.ones(ranked.size, dtype=bool)
    first[1:] = (np.diff(values[ranked]) != 0) | (np.diff(truth.values[ranked]) != 0)
    kept = np.zeros(values.size, dtype=bool)
    kept[ranked[first]] = True
    return rows[kept[rows]]


def _neighbours(order: Ints, values: Floats) -> _Neighbours:
    """The neighbours of each record, of a systematic sample in large files; values: in this order."""
    if order.size < 2:  # nobody has a neighbour
        order, values = order[:0], values[:0]
    last = order.size - 1
    spots = np.arange(order.size) if order.size <= SAMPLE else np.arange(SAMPLE) * order.size // SAMPLE
    below, above = spots - 1, spots + 1
    gap_below = np.where(below >= 0, values[spots] - values[np.maximum(below, 0)], np.inf)
    gap_above = np.where(above <= last, values[np.minimum(above, last)] - values[spots], np.inf)
    below, above = np.where(below >= 0, below, above), np.where(above <= last, above, below)
    with np.errstate(invalid="ignore"):
        weight = np.nan_to_num(gap_below / (gap_below + gap_above))
    nearest = np.where(gap_above < gap_below, above, below)
    same = np.minimum(gap_below, gap_above) == 0
    return _Neighbours(order[spots], order[nearest], order[below], order[above], weight, same)


def _nearest(neighbours: _Neighbours, truth: _Truth) -> _Attack:
    """Predict each value by that of the nearest record, or by the straight line between the two next to it.

    The line serves small files, where the nearest record is far. Pairs of records predict each other, so that only
    half of the predictions are independent.
    """
    values, own = truth.values, truth.values[neighbours.own]
    margin = truth.margin[neighbours.own]
    share = _share(np.abs(values[neighbours.nearest] - own) <= margin)
    if truth.is_number:
        below, above = values[neighbours.below], values[neighbours.above]
        line = below + (above - below) * neighbours.weight
        share = max(share, _share(np.abs(line - own) <= margin))
    trials = max(1, own.size // 2)
    return _Attack(neighbours.own, share, share * trials, trials)


def _agreeing(neighbours: _Neighbours, truth: _Truth) -> float:
    """The share of records that have the protected value of another one with the same label."""
    difference = np.abs(truth.values[neighbours.nearest] - truth.values[neighbours.own])
    return _share(neighbours.same & (difference <= truth.margin[neighbours.own]))


def _determined(labels: Floats, truth: _Truth) -> _Attack | None:
    """The records whose label determines their value: at least two have it, and nearly all agree with the median.

    A label shared by m records has one free value: m - 1 of them are evidence.
    """
    rows = np.flatnonzero(truth.known & ~np.isnan(labels))
    if rows.size < 2:
        return None
    groups = np.unique(labels[rows], return_inverse=True)[1]
    median, size = _medians(groups, truth.values[rows])
    agrees = np.abs(truth.values[rows] - median[groups]) <= truth.margin[rows]
    right = np.bincount(groups, agrees)
    pure = (size >= 2) & (right >= PURE * size)
    hits, trials = float((right[pure] - 1).sum()), int((size - 1).sum())
    return _Attack(rows, float((agrees & pure[groups]).mean()), hits, trials)


def _medians(groups: Ints, values: Floats) -> tuple[Floats, Ints]:
    """The lower median of each group, which is the value of the majority if there is one, and the groups' sizes."""
    size = np.bincount(groups)
    ranked = values[np.lexsort((values, groups))]
    return ranked[np.cumsum(size) - size + (size - 1) // 2], size


# A dependency of the original


def _by_dependency(source: _Source, truths: Sequence[_Truth], level: float) -> Iterator[GivenAway]:
    """Released values that do not go with the unchanged column: a district beside the region of another."""
    for truth in truths:
        if not truth.is_few_valued:
            continue
        rows = np.flatnonzero(truth.known & ~np.isnan(source.values))
        changed = rows[~truth.revealed[rows] & ~np.isnan(truth.released[rows])]
        quick = rows[:: max(1, rows.size // QUICK)]
        if not changed.size or _kept(source.values, truth, quick) < HOLDS - 0.02:
            continue
        domain, groups = np.unique(truth.values[rows], return_inverse=True)
        expected, size = _medians(groups, source.values[rows])
        hits, trials = (source.values[rows] == expected[groups]).sum() - domain.size, int((size - 1).sum())
        guess = _best_guess(source.values[rows], np.zeros(rows.size))
        if hits < HOLDS * trials or bdtrc(hits - 1, trials, guess) >= level:
            continue
        place = np.minimum(np.searchsorted(domain, truth.released[changed]), domain.size - 1)
        exists = domain[place] == truth.released[changed]
        share = float((exists & (expected[place] != source.values[changed])).mean())
        if share > max(MIN_SHARE, MIN_GAIN):
            yield GivenAway(truth.name, (source.name,), "dependency", share, 0.0)


def _kept(values: Floats, truth: _Truth, rows: Ints) -> float:
    """The share of some records that have the most common value of those with the same protected value."""
    groups = np.unique(truth.values[rows], return_inverse=True)[1]
    median, _ = _medians(groups, values[rows])
    return float((values[rows] == median[groups]).mean())


# Pairs of labels


def _by_pairs(sources: Sequence[_Source], truths: Sequence[_Truth], found: Sequence[GivenAway]) -> Iterator[GivenAway]:
    """Pairs of labels that determine a value, without those of which one label does so alone."""
    alone = {(finding.column, finding.by[0]) for finding in found if finding.way != "dependency"}
    labels = {source.name: coded for source in sources if (coded := _label_codes(source)) is not None}
    pairs = sorted(_small_pairs(labels), key=lambda pair: -pair[2])[:MAX_PAIRS]
    level = CHANCE / max(1, len(pairs) * len(truths))
    for one, two, _ in pairs:
        joint = labels[one] * (np.nanmax(labels[two]) + 1) + labels[two]
        order = np.argsort(joint[:QUICK], kind="stable")  # the rows of a sample are in random order already
        same = np.diff(joint[order]) == 0
        unlabelled = int(np.isnan(joint).sum())
        for truth in truths:
            if (
                (truth.name, one) not in alone
                and (truth.name, two) not in alone
                and _is_promising(order, same, unlabelled, truth)
            ):
                yield from _judged(truth, _determined(joint, truth), (one, two), "labels", level)


def _label_codes(source: _Source) -> Floats | None:
    """Whole numbers from 0 on for the values of a column that is nominal or has few values."""
    known = ~np.isnan(source.values)
    domain, coded = np.unique(source.values[known], return_inverse=True)
    if domain.size < 2 or (source.kind != "nominal" and domain.size > FEW):
        return None
    result = np.full(known.size, np.nan)
    result[known] = coded
    return result


def _small_pairs(labels: Mapping[str, Floats]) -> Iterator[tuple[str, str, float]]:
    """Pairs of labels with enough records per combination, and their number of combinations."""
    size = {name: float(np.nanmax(coded)) + 1 for name, coded in labels.items()}
    for one, two in itertools.combinations(labels, 2):
        if size[one] * size[two] < labels[one].size / RECORDS_PER_LABEL:
            yield one, two, size[one] * size[two]


def _is_promising(order: Ints, same: Bools, unlabelled: int, truth: _Truth) -> bool:
    """Whether records next to each other with the same labels agree often enough for the full test."""
    difference = np.abs(np.diff(truth.values[order]))[same]
    agrees = difference <= truth.margin[order][1:][same]
    return bool(agrees.sum() > truth.least_agreement(unlabelled) * (~np.isnan(difference)).sum())


# Least squares on all numbers


def _by_least_squares(sources: Sequence[_Source], truths: Sequence[_Truth]) -> Iterator[GivenAway]:
    """Linear formulas (a total less its parts), and products by their logarithms (a price times a quantity)."""
    columns = [source for source in sources if source.kind == "number"]
    numeric = [truth for truth in truths if truth.is_number]
    level = CHANCE / max(1, 2 * len(numeric))
    for in_logs in (False, True) if numeric else ():
        terms = [c for c in columns if not in_logs or np.nanmin(c.values, initial=np.inf) > 0]
        terms, x = _complete_terms(terms)
        x = np.log(x) if in_logs else x
        if not terms:
            continue
        complete = ~np.isnan(x).any(axis=1)
        for rows, members in _by_rows(numeric, complete, in_logs):
            y = np.stack([truth.values[rows] for truth in members], axis=1)
            formulas = _formulas(_standardized(x[rows]), np.log(y) if in_logs else y, members, rows, in_logs)
            for truth, share, used in formulas:
                attack = _Attack(rows, share, share * rows.size, rows.size)
                yield from _judged(truth, attack, [terms[j].name for j in used], "least squares", level)


def _complete_terms(sources: Sequence[_Source]) -> tuple[list[_Source], Floats]:
    """The columns with the fewest missing cells, as long as half of the records have all of them."""
    ranked = sorted(sources, key=lambda source: int(np.isnan(source.values).sum()))
    terms: list[_Source] = []
    complete = np.ones(ranked[0].values.size if ranked else 0, dtype=bool)
    for source in ranked:
        remaining = complete & ~np.isnan(source.values)
        if 2 * int(remaining.sum()) >= remaining.size:
            terms.append(source)
            complete = remaining
    x = np.stack([source.values for source in terms], axis=1) if terms else np.empty((0, 0))
    return terms, x


def _by_rows(truths: Sequence[_Truth], complete: Bools, in_logs: bool) -> Iterator[tuple[Ints, list[_Truth]]]:
    """The protected columns by the records that can be predicted: one factorization serves all with the same."""
    members: dict[bytes, list[_Truth]] = {}
    for truth in truths:
        usable = complete & truth.known
        if in_logs:
            usable &= np.nan_to_num(truth.values) > 0
        members.setdefault(np.packbits(usable).tobytes(), []).append(truth)
    for key, group in members.items():
        rows = np.flatnonzero(np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=complete.size))
        if rows.size >= 2 * RECORDS_PER_TERM:
            yield rows, group


def _standardized(x: Floats) -> Floats:
    """The columns centred and scaled, so that totals and ages weigh the same in the arithmetic."""
    deviation = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _formulas(
    x: Floats, y: Floats, truths: Sequence[_Truth], rows: Ints, in_logs: bool
) -> Iterator[tuple[_Truth, float, Ints]]:
    """For each protected column the share that a formula reveals, and the columns of the formula.

    Ordinary least squares first; a column that it predicts roughly gets a trimmed fit, which finds the formula of the
    majority where other records break it.
    """
    limit = min(MAX_TERMS, rows.size // RECORDS_PER_TERM)
    together = _cross_fitted(x, y, limit) if x.shape[1] <= limit else None
    for j, truth in enumerate(truths):
        own = y[:, j : j + 1]
        values, margin = truth.values[rows], truth.margin[rows]
        predicted = together[:, j : j + 1] if together is not None else _cross_fitted(x, own, limit)
        share = _share_within(predicted, values, margin, in_logs)
        error, spread = np.median(np.abs(own - predicted)), np.median(np.abs(own - np.median(own)))
        if share < 1 and error < spread / 2:
            share = max(share, _share_within(_cross_fitted(x, own, limit, trimmed=True), values, margin, in_logs))
        if share > MIN_SHARE:
            yield truth, share, _shortest(x[:QUICK], own[:QUICK], values[:QUICK], margin[:QUICK], share, in_logs)


def _cross_fitted(x: Floats, y: Floats, limit: int, *, trimmed: bool = False) -> Floats:
    """Each half of the records predicted by the formula of the other half: overfitting then reveals nothing."""
    half = len(x) // 2
    predicted = np.empty_like(y)
    for fitted, tested in ((slice(None, half), slice(half, None)), (slice(half, None), slice(None, half))):
        terms = np.arange(x.shape[1]) if x.shape[1] <= limit else _pursued(x[fitted], y[fitted, 0], limit)
        factors = _coefficients(x[fitted][:, terms], y[fitted], trimmed)
        predicted[tested] = factors[0] + x[tested][:, terms] @ factors[1:]
    return predicted


def _coefficients(x: Floats, y: Floats, trimmed: bool) -> Floats:
    """The intercept and the factors of least squares; trimmed: refitted to the half with the smallest residuals."""
    design = np.column_stack([np.ones(len(x)), x])
    factors = _least_squares(design, y)
    for _ in range(TRIMS if trimmed else 0):
        residuals = np.abs(y[:, 0] - (design @ factors)[:, 0])
        kept = np.flatnonzero(residuals <= np.median(residuals))[:QUICK]
        factors = _least_squares(design[kept], y[kept])
    return factors


def _least_squares(design: Floats, y: Floats) -> Floats:
    """The factors; zeros where values are so large that no factors can be computed, and so predict nothing."""
    if np.isfinite(design).all() and np.isfinite(y).all():  # LAPACK prints to the terminal where they are not
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.lstsq(design, y, rcond=None)[0])
    return np.zeros((design.shape[1], y.shape[1]))


def _pursued(x: Floats, y: Floats, limit: int) -> Ints:
    """The columns that explain most, one after the other: each the most correlated with what is left unexplained.

    Orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad 1993), for files with few records per column.
    """
    x, y = x - x.mean(axis=0), y - y.mean()
    scale = np.sqrt((x * x).sum(axis=0)).max(initial=0.0)
    chosen: list[int] = []
    for _ in range(min(limit, MAX_NAMED)):
        length = np.sqrt((x * x).sum(axis=0))
        usable = length > 1e-6 * scale
        if not usable.any():
            break
        best = int(np.argmax(np.where(usable, np.abs(y @ x) / np.where(usable, length, 1.0), -1.0)))
        direction = x[:, best] / length[best]
        x, y = x - np.outer(direction, direction @ x), y - direction * (direction @ y)
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


def _shortest(x: Floats, y: Floats, values: Floats, margin: Floats, share: float, in_logs: bool) -> Ints:
    """The columns of the formula, as few as reveal nearly the same share: those with the largest factors."""
    limit = min(MAX_TERMS, len(x) // RECORDS_PER_TERM)
    terms = np.arange(x.shape[1]) if x.shape[1] <= limit else _pursued(x, y[:, 0], limit)
    factors = _coefficients(x[:, terms], y, trimmed=True)[1:, 0]
    ranked = terms[np.argsort(-np.abs(factors), kind="stable")]
    for count in range(1, min(MAX_NAMED, ranked.size) + 1):
        predicted = _cross_fitted(x[:, ranked[:count]], y, limit, trimmed=True)
        if _share_within(predicted, values, margin, in_logs) >= PURE * share:
            return ranked[:count]
    return ranked


def _share_within(predicted: Floats, values: Floats, margin: Floats, in_logs: bool) -> float:
    """The share of predictions that reveal the value."""
    predicted = predicted[:, 0]
    with np.errstate(over="ignore"):
        predicted = np.exp(predicted) if in_logs else predicted
    return float((np.abs(predicted - values) <= margin).mean())
