"""The guarantees of classes, recounted over all files: from the distinct released tuples and their numbers of records.

The tuples of a table of categories are few, so they fit into memory. k over all protected columns needs no tuples (see
`shoal.gate.folders.recount`); k over sets of columns, l, t and the readings of stars do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats
from shoal.errors import counted
from shoal.gate.cells import codes
from shoal.gate.checks.k_of_stars import compatible
from shoal.gate.context import STAR, CheckContext
from shoal.gate.findings import Finding
from shoal.gate.folders.recount import UNIT, key_name
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import stricter
from shoal.gate.promises import EverySubset, KAnonymity, KOfStars, LDiversity, Promise, TCloseness

RECORDS = "records"
OF_TUPLES = (LDiversity, TCloseness, KOfStars, EverySubset)
CELLS = 4_000_000  # classes times values in memory at once
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Weighted:
    """The distinct tuples of the released columns that guarantees name, each with its number of records.

    Attributes:
        frame: The tuples: a column per released column (`key_name`) and per confidential column (`value_name`), and
            the unit, where classes are counted in units.
        released: The released columns, in their order.
    """

    frame: pl.DataFrame
    released: tuple[str, ...]

    def keys(self, columns: Sequence[str]) -> list[str]:
        """Return the staged names of some released columns."""
        return [key_name(self.released.index(name)) for name in columns if name in self.released]

    def kept(self, keys: Sequence[str]) -> pl.DataFrame:
        """Return the tuples that are not suppressed: those with a value in one of the columns."""
        stars = [name for name in keys if self.frame[name].dtype == pl.String]
        if not keys or len(stars) < len(keys):
            return self.frame
        return self.frame.filter(~pl.all_horizontal((pl.col(name) == STAR).fill_null(False) for name in keys))


def value_name(name: str) -> str:
    """Return the staged name of the values of a confidential column."""
    return f"v:{name}"


def confidential_of(guarantees: Guarantees) -> tuple[str, ...]:
    """Return the confidential columns whose l or t is guaranteed."""
    promises: list[LDiversity | TCloseness] = [*guarantees.of(LDiversity), *guarantees.of(TCloseness)]
    return tuple(dict.fromkeys(name for promise in promises for name in promise.confidential))


def tuple_columns(guarantees: Guarantees, released: Sequence[str]) -> list[str]:
    """Return the staged columns whose tuples the guarantees need; none if k over all protected columns is all."""
    promises: list[Promise] = [p for p in guarantees.of(Promise) if isinstance(p, OF_TUPLES)]
    promises += [p for p in guarantees.of(KAnonymity) if p.group]
    if not promises:
        return []
    named = {name for promise in promises for name in promise.columns}
    named |= {name for promise in promises if isinstance(promise, EverySubset) for name in promise.within}
    keys = [key_name(place) for place, name in enumerate(released) if name in named]
    counts_units = guarantees.unit is not None and any(not isinstance(p, (LDiversity, TCloseness)) for p in promises)
    return [*keys, *map(value_name, confidential_of(guarantees)), *((UNIT,) if counts_units else ())]


def distinct_tuples(tuples: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the distinct tuples of these columns with their numbers of records."""
    return tuples.group_by(columns).agg(pl.len().cast(pl.Int64).alias(RECORDS))


def promise_findings(context: CheckContext, weighted: Weighted) -> list[Finding]:
    """Return one finding per kind of guarantee: the worst class of the whole release."""
    makers = (_group_k, _diversity, _closeness, _stars, _subsets)
    return [finding for maker in makers for finding in maker(context, weighted)]


def _sizes(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    members = pl.col(UNIT).n_unique().cast(pl.Int64) if UNIT in frame.columns else pl.col(RECORDS).sum()
    return frame.group_by(keys).agg(members.alias("members"))["members"]


def _member(weighted: Weighted) -> str:
    """Return what a class is counted in."""
    return "unit" if UNIT in weighted.frame.columns else "record"


def _smallest(frame: pl.DataFrame, keys: Sequence[str]) -> int:
    least = _sizes(frame, keys).min()
    return int(least) if isinstance(least, int) else 0


def _group_k(context: CheckContext, weighted: Weighted) -> Iterator[Finding]:
    promises = [p for p in context.guarantees.of(KAnonymity) if p.group]
    if not promises:
        return
    sizes = {}
    for promise in promises:
        keys = weighted.keys(promise.columns)
        sizes[promise.columns] = _smallest(weighted.kept(keys), keys)
    worst = min(sizes, key=lambda columns: sizes[columns])
    k = max(promise.k for promise in promises)
    bad = sizes[worst] < k
    text = f"the smallest class within a set of columns of all files has {counted(sizes[worst], _member(weighted))}"
    text += f", fewer than k = {k}, in {', '.join(worst)}" if bad else ""
    yield context.make_finding("k-within-groups", bad, text, sizes[worst], k, "protect the files again", promised=True)


def _diversity(context: CheckContext, weighted: Weighted) -> Iterator[Finding]:
    measured = [
        (diversity(weighted, promise, name), name, promise)
        for promise in context.guarantees.of(LDiversity)
        for name in promise.confidential
    ]
    if not measured:
        return
    value, worst, promise = min(measured, key=lambda result: result[0] - result[2].l)
    limit = stricter(promise.l if promise.promised else None, context.policy.thresholds.l)
    broken = promise.promised and value < promise.l - ROUNDING
    bad = broken or (limit is not None and value < limit - ROUNDING)
    text = f"the least diverse class of all files has l = {value:g} ({promise.kind}) in {worst!r}"
    yield context.make_finding(
        "l", bad, text, value, promise.l if broken else limit, "use a larger k, or request l with -l L",
        promised=broken,
    )  # fmt: skip


def diversity(weighted: Weighted, promise: LDiversity, name: str) -> float:
    """Return the l of the least diverse class."""
    keys, value = weighted.keys(promise.columns), value_name(name)
    pairs = weighted.kept(keys).group_by([*keys, value]).agg(pl.col(RECORDS).sum())
    if not pairs.height:
        return float("inf")
    if promise.kind == "distinct":
        worst = pairs.group_by(keys).len()["len"].min()
    elif promise.kind == "entropy":
        share = pl.col(RECORDS) / pl.col(RECORDS).sum()
        worst = pairs.group_by(keys).agg((-share * share.log()).sum().exp().alias("l"))["l"].min()
    else:
        ordered = pl.col(RECORDS).sort(descending=True)
        tails = ordered.reverse().cum_sum().reverse()
        worst = pairs.group_by(keys).agg((ordered.first() < promise.c * tails).sum().alias("l"))["l"].min()
    return float(worst)  # type: ignore[arg-type]


def _closeness(context: CheckContext, weighted: Weighted) -> Iterator[Finding]:
    measured = [
        (farthest(weighted, promise, name), name, promise)
        for promise in context.guarantees.of(TCloseness)
        for name in promise.confidential
    ]
    if not measured:
        return
    value, worst, promise = max(measured, key=lambda result: result[0] - result[2].t)
    threshold = context.policy.thresholds.t
    broken = promise.promised and value > promise.t + ROUNDING
    bad = broken or (threshold is not None and value > threshold + ROUNDING)
    text = f"the largest distance of a class from the whole table is t = {value:.4g} ({promise.distance}) in {worst!r}"
    yield context.make_finding(
        "t", bad, text, round(value, 6), promise.t if broken else threshold,
        "use a larger k, or request t with -t T", promised=broken,
    )  # fmt: skip


def farthest(weighted: Weighted, promise: TCloseness, name: str) -> float:
    """Return the largest distance of a class from the whole table, suppressed records included."""
    keys, value = weighted.keys(promise.columns), value_name(name)
    whole = weighted.frame.group_by(value).agg(pl.col(RECORDS).sum())
    whole = whole.sort(value, nulls_last=True).with_row_index("rank")
    shares = whole[RECORDS].to_numpy() / whole[RECORDS].sum()
    pairs = weighted.kept(keys).group_by([*keys, value]).agg(pl.col(RECORDS).sum())
    if not pairs.height or whole.height < 2:
        return 0.0
    ranked = pairs.join(whole.select(value, "rank"), on=value, how="left", nulls_equal=True)
    classes = ranked.select(pl.struct(keys).rank("dense").alias("class"), "rank", RECORDS).sort("class")
    label = classes["class"].to_numpy().astype(np.int64) - 1
    rank, records = classes["rank"].to_numpy().astype(np.int64), classes[RECORDS].to_numpy()
    step, worst = max(1, CELLS // shares.size), 0.0
    for first in range(0, int(label[-1]) + 1, step):
        here = slice(*np.searchsorted(label, [first, first + step]))
        counts = np.zeros((int(label[here].max()) - first + 1, shares.size))
        np.add.at(counts, (label[here] - first, rank[here]), records[here])
        worst = max(worst, float(_distances(counts, shares, promise.distance).max()))
    return worst


def _distances(counts: Floats, whole: Floats, distance: str) -> Floats:
    apart = counts / counts.sum(axis=1, keepdims=True) - whole
    if distance == "equal":
        return np.asarray(np.abs(apart).sum(axis=1) / 2)
    return np.asarray(np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / (whole.size - 1))


def _stars(context: CheckContext, weighted: Weighted) -> Iterator[Finding]:
    for promise in context.guarantees.of(KOfStars):
        keys = weighted.keys(promise.columns)
        tuples = weighted.frame.group_by(keys).agg(pl.col(RECORDS).sum())
        size = _smallest(weighted.frame, keys)
        if promise.reading == "wildcard":
            cells = np.column_stack([codes(tuples[name]) for name in keys]).astype(np.int64)
            starred = np.column_stack([_starred(tuples[name]) for name in keys])
            size = int(compatible(cells, starred, tuples[RECORDS].to_numpy()).min(initial=context.rows))
        bad = size < promise.k
        who = "record" if promise.reading == "wildcard" else _member(weighted)
        text = f"each record of all files agrees with at least {counted(size, who)}, a star read as a "
        text += f"{promise.reading}, itself included" + (f"; guaranteed are {promise.k}" if bad else "")
        yield context.make_finding(
            "k-of-stars", bad, text, size, promise.k, "protect the files again with shoal suppress",
            promised=promise.promised,
        )  # fmt: skip


def _starred(cells: pl.Series) -> Bools:
    if cells.dtype != pl.String:
        return np.zeros(cells.len(), dtype=bool)
    return np.asarray((cells == STAR).fill_null(False).to_numpy(), dtype=bool)


def _subsets(context: CheckContext, weighted: Weighted) -> Iterator[Finding]:
    for promise in context.guarantees.of(EverySubset):
        keys, within = weighted.keys(promise.columns), weighted.keys(promise.within)
        rare, smallest = 0, context.rows
        for size in range(1, min(promise.m, len(keys)) + 1):
            for chosen in combinations(keys, size):
                present = weighted.frame.filter(~pl.any_horizontal(_absent(weighted.frame[name]) for name in chosen))
                sizes = _sizes(present, [*chosen, *within])
                below = sizes.filter(sizes < promise.k)
                rare += below.len()
                smallest = min(smallest, int(below.min() or smallest))  # type: ignore[arg-type]
        text = f"every combination of up to {promise.m} columns that occurs has at least {promise.k} records"
        if rare:
            text = f"{counted(rare, 'combination')} of up to {promise.m} columns of all files occur less than "
            text += f"{promise.k} times; the rarest has {counted(smallest, _member(weighted))}"
        yield context.make_finding(
            "every-subset", rare > 0, text, rare, 0, "protect the files again with shoal suppress --subsets",
            promised=promise.promised,
        )  # fmt: skip


def _absent(cells: pl.Series) -> pl.Series:
    if cells.dtype != pl.String:
        return cells.is_null()
    return (cells.is_null() | cells.is_in(["", STAR])).fill_null(True)
