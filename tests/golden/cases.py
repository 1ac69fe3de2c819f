"""The golden cases: every method of the public functions, and most of their options, on small tables.

A case's variants are ways that must not matter: threads, an engine, the kind of frame, the format of a file. All of
them have the same answer. Every column of a table has a role, and every seed is given.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from golden.answer import answer_of, read_back
from golden.tables import (
    NUMBERS,
    Made,
    Slice,
    clusters,
    constant,
    gaps,
    guards,
    people,
    people_with_gaps,
    ties,
    weighted,
)

THREADS = ({"threads": 1}, {"threads": 2})
ENGINES = ({"engine": "brute"}, {"engine": "tree"})
FRAMES = tuple({"given": kind} for kind in ("polars", "pandas", "pyarrow", "csv", "decimal comma"))
ENDINGS = tuple({"ending": ending} for ending in (".csv", ".csv.gz", ".tsv", ".parquet", ".arrow", ".feather"))


@dataclass(frozen=True)
class Case:
    """One call of a public function, and the columns and facts of its release that are golden."""

    name: str
    function: str
    data: Made | Slice
    protected: tuple[str, ...]
    facts: tuple[str, ...]
    roles: Mapping[str, Any]
    arguments: Mapping[str, Any]
    variants: Sequence[Mapping[str, Any]] = field(default=({},))

    @property
    def needs_data(self) -> bool:
        return isinstance(self.data, Slice)

    @property
    def columns(self) -> set[str]:
        """The columns that have a role; the table has no others."""
        parts = ((part,) if isinstance(part, str) else part for part in self.roles.values() if part is not None)
        return {name for part in parts for name in part}

    def answer(self, folder: Path | None, variant: Mapping[str, Any]) -> dict[str, Any]:
        """The hash of the protected columns and the facts; `folder` has the benchmark sets."""
        how = dict(variant)
        given, ending = how.pop("given", "polars"), how.pop("ending", None)
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as place:
            warnings.simplefilter("ignore")  # a warning is not part of the result
            frame = self.data.frame(folder)
            frame = frame.select(name for name in frame.columns if name in self.columns)
            table = shoal.read(_given_as(given, frame, Path(place)), **self.roles)
            release = getattr(shoal, self.function)(table, **self.arguments, **how)
            made = release.table if ending is None else read_back(release.save(Path(place) / f"release{ending}"))
            return answer_of(made, self.protected, {name: _named_as_hashed(release.facts[name]) for name in self.facts})


def _named_as_hashed(fact: Any) -> Any:
    """A fact with the names that it had when it was hashed: the linkage of a choice is that over all columns."""
    if not (
        isinstance(fact, list) and fact and isinstance(fact[0], dict) and "distance_linkage_all_columns" in fact[0]
    ):
        return fact
    added = ("distance_linkage", "distance_linkage_std", "distance_linkage_sets", "joint_k", "pick")
    return [
        {name.removesuffix("_all_columns"): value for name, value in choice.items() if name not in added}
        for choice in fact
    ]


def _given_as(kind: str, frame: pl.DataFrame, folder: Path) -> Any:
    """The frame as pandas, pyarrow or a file."""
    if kind == "pandas":
        return frame.to_pandas()
    if kind == "pyarrow":
        return frame.to_arrow()
    if kind == "csv":
        frame.write_csv(folder / "data.csv")
        return folder / "data.csv"
    if kind == "decimal comma":
        frame.write_csv(folder / "data.csv", separator=";", decimal_comma=True)
        return folder / "data.csv"
    return frame


def _microaggregate(
    name: str,
    data: Made | Slice,
    k: int,
    *,
    variants: Sequence[Mapping[str, Any]] = ({},),
    weight: str | None = None,
    facts: Sequence[str] = (),
    **arguments: Any,
) -> Case:
    quasi = data.columns if isinstance(data, Slice) else NUMBERS[: data.arguments[1]]
    roles = {"quasi": quasi, "weight": weight}
    known = ("groups", "information_loss", *facts)
    given = {"k": k, "seed": 0, **arguments}
    return Case(f"microaggregate {name}", "microaggregate", data, quasi, known, roles, given, variants)


def _group(name: str, data: Made | Slice, k: int, *, facts: Sequence[str] = (), **arguments: Any) -> Case:
    quasi = data.columns if isinstance(data, Slice) else NUMBERS[: data.arguments[1]]
    known = ("groups", "information_loss", "interval_disclosure", "distance_linkage_all_columns", "joint_k", *facts)
    given = {"k": k, "seed": 0, "within_groups": "mdav", "baselines": False, **arguments}
    return Case(f"group {name}", "group_attributes", data, quasi, known, {"quasi": quasi}, given, THREADS)


def _recode(name: str, k: int, *, confidential: str = "illness", **arguments: Any) -> Case:
    quasi = ("age", "region", "job")
    known = ("loss", "granularity", "effective_k", "groups", "suppressed", "per_column")
    roles = {"quasi": quasi, "confidential": confidential, "identifiers": "name"}
    return Case(f"recode {name}", "recode", PEOPLE, quasi, known, roles, {"k": k, "seed": 0, **arguments}, THREADS)


def _mixed(name: str, k: int, **arguments: Any) -> Case:
    quasi = ("age", "region", "job")
    known = ("groups", "information_loss", "per_column")
    roles = {"quasi": quasi, "confidential": "illness", "identifiers": "name"}
    given = {"k": k, "seed": 0, "effort": "quick", **arguments}
    return Case(f"microaggregate mixed {name}", "microaggregate", PEOPLE, quasi, known, roles, given, THREADS)


def _generalize(
    name: str,
    data: Made | Slice,
    k: int,
    *,
    quasi: tuple[str, ...] = ("age", "region", "job"),
    confidential: str = "illness",
    **arguments: Any,
) -> Case:
    roles = {"quasi": quasi, "confidential": confidential, "identifiers": "name" if isinstance(data, Made) else ()}
    known = ("nwp", "necd", "effective_k", "suppressed", "cuts", "front")
    given = {"k": k, "seed": 0, **arguments}
    return Case(f"generalize {name}", "generalize", data, quasi, known, roles, given)


def _mask(name: str, data: Made, *, variants: Sequence[Mapping[str, Any]] = ({},), **arguments: Any) -> Case:
    roles = {"quasi": ("district", "age", "sex", "town", "hours"), "confidential": "job"}
    known = ("metric", "swaps", "modified_signal", "compatibility", "lower_bound", "candidates")
    given = {
        "vital": ("job", ["guard"]),
        "parameter": "district",
        "influential": ["age", "sex", "town", "hours"],
        "ordinal": ["age", "hours"],
        "settings": "published",
        "seed": 0,
        **arguments,
    }
    return Case(f"mask {name}", "mask_group", data, ("district",), known, roles, given, variants)


def _by_seed(make: Any, name: str, *rest: Any, seeds: Sequence[int] = (0, 1), **arguments: Any) -> list[Case]:
    return [make(f"{name}, seed {seed}", *rest, seed=seed, **arguments) for seed in seeds]


CENSUS = (
    "AGI", "FEDTAX", "PTOTVAL", "STATETAX", "INTVAL", "PEARNVAL", "AFNLWGT", "EMCONTRB", "TAXINC", "POTHVAL", "FICA",
    "WSALVAL", "ERNVAL",
)  # fmt: skip
EIA = ("RESREVENUE", "RESSALES", "COMREVENUE", "INDSALES", "TOTREVENUE", "COMSALES", "INDREVENUE", "OTHRSALES")
ADULT = ("age", "education_num", "hours_per_week")
ADULT_LABELS = ("age", "education", "marital_status", "race", "sex", "salary")


def _census(rows: int, columns: int = 6, first: int = 0) -> Slice:
    return Slice("census.csv", CENSUS[:columns], rows, first)


def _eia(rows: int, columns: int = 5, first: int = 0) -> Slice:
    return Slice("eia.csv", EIA[:columns], rows, first)


def _clusters(n: int, d: int, seed: int = 0) -> Made:
    return Made(clusters, (n, d, seed))


def _ties(n: int, d: int, seed: int = 0) -> Made:
    return Made(ties, (n, d, seed))


def _weighted(n: int, d: int, seed: int = 0) -> Made:
    return Made(weighted, (n, d, seed))


AUTO = [
    *_by_seed(_microaggregate, "auto quick", _clusters(250, 6), 6, effort="quick", variants=THREADS),
    *_by_seed(_microaggregate, "auto quick ties", _ties(120, 3), 4, effort="quick", variants=THREADS),
    *_by_seed(_microaggregate, "auto quick census", _census(200), 5, effort="quick", variants=THREADS),
    *_by_seed(_microaggregate, "auto standard", _clusters(300, 8), 8, effort="standard", variants=THREADS),
    _microaggregate("auto standard eia", _eia(200, 8), 3, effort="standard", variants=THREADS),
    _microaggregate("auto thorough", _clusters(70, 6), 5, effort="thorough", variants=THREADS),
    _microaggregate("auto one column", _ties(200, 1), 4, facts=["chosen"]),
    _microaggregate("auto 8,500 records", _clusters(8500, 3), 3, effort="quick", facts=["chosen"], variants=THREADS),
    _microaggregate("auto 20,500 records", _clusters(20500, 3), 5, effort="quick", facts=["chosen"], variants=THREADS),
    # From 393,217 records on, several windows of the file are annealed at once.
    _microaggregate("auto 400,000 records", _clusters(400_000, 3), 5, effort="quick", variants=THREADS),
    _microaggregate("auto weights", _weighted(120, 3), 3, weight="weight", effort="quick", variants=THREADS),
    _microaggregate("auto adult", Slice("adult.csv", ADULT, 300), 5, effort="quick"),
    _microaggregate("auto frames", _clusters(80, 3), 4, effort="quick", variants=FRAMES),
    _microaggregate("auto formats", _clusters(80, 3, 5), 5, effort="quick", variants=ENDINGS),
    _microaggregate("auto formats, whole numbers", _ties(80, 3), 5, effort="quick", round=True, variants=ENDINGS),
]

OPTIONS = [
    *(
        _microaggregate(f"{aggregate} of auto", _census(120), 5, aggregate=aggregate, effort="quick")
        for aggregate in ("mean", "median")
    ),
    _microaggregate("round", _ties(100, 3), 4, round=True, effort="quick"),
    _microaggregate("round of medians", _census(100), 4, round=True, aggregate="median", method="mdav"),
    *(
        _microaggregate(f"scaling {scaling}", _census(120), 4, scaling=scaling, method="mdav")
        for scaling in ("standard", "minmax", "none")
    ),
    *(
        _microaggregate(f"missing {missing}", Made(gaps, (100, 3, 0)), 3, missing=missing, effort="quick")
        for missing in ("drop", "median")
    ),
    _microaggregate("constant column", Made(constant, (80, 3, 0)), 3, effort="quick"),
    *_by_seed(_microaggregate, "refine mdav", _census(250), 5, method="mdav", refine=True, variants=THREADS),
    *_by_seed(
        _microaggregate,
        "refine vmdav, weights",
        _weighted(150, 3),
        3,
        method="vmdav",
        refine=True,
        weight="weight",
        variants=THREADS,
    ),
    # Both end by themselves, long before the seconds are over.
    *(
        _microaggregate(
            name,
            data,
            k,
            method="mdav",
            bound=True,
            bound_seconds=600.0,
            facts=["lower_bound", "proved"],
            variants=THREADS,
        )
        for name, data, k in (("bound, proved", _ties(60, 2), 4), ("bound, not proved", _eia(60), 5))
    ),
]

CLASSICAL = [
    *(
        _microaggregate(f"mdav {remainder}", _clusters(n, 3), 4, method="mdav", remainder=remainder, variants=ENGINES)
        for remainder, n in (("standard", 155), ("solanas", 158), ("thesis", 166), ("distribute", 158))
    ),
    *(
        _microaggregate(f"mdav {metric} census", _census(303), 3, method="mdav", metric=metric, variants=ENGINES)
        for metric in ("euclidean", "l1")
    ),
    _microaggregate("mdav ties", _ties(151, 3), 3, method="mdav", variants=ENGINES),
    _microaggregate("mdav weights", _weighted(151, 3), 3, method="mdav", weight="weight", variants=ENGINES),
    _microaggregate("mdav eia", _eia(4092), 5, method="mdav", variants=ENGINES),
    _microaggregate("md", _clusters(122, 3), 4, method="md"),
    _microaggregate("md ties", _ties(121, 3), 3, method="md"),
    _microaggregate("md weights", _weighted(122, 3), 4, method="md", weight="weight"),
    *(
        _microaggregate(f"vmdav gamma {gamma}", _census(200), 3, method="vmdav", gamma=gamma)
        for gamma in ("auto", 0.2, 1.1)
    ),
    _microaggregate("vmdav weights", _weighted(120, 3), 3, method="vmdav", weight="weight"),
    *(
        _microaggregate(f"mst split {split}", _clusters(150, 3), 3, method="mst", split=split)
        for split in (True, False)
    ),
    _microaggregate("mst ties", _ties(120, 3), 3, method="mst"),
    _microaggregate("mst weights", _weighted(120, 3), 3, method="mst", weight="weight"),
    *(
        _microaggregate(f"path {order}", _eia(250), 4, method="path", order=order)
        for order in ("tour", "nearest", "mdav")
    ),
    *(
        _microaggregate(f"path {order} weights", _weighted(120, 3), 3, method="path", order=order, weight="weight")
        for order in ("tour", "nearest", "mdav")
    ),
    _microaggregate("path ties", _ties(120, 3), 3, method="path", order="tour"),
    _microaggregate("univariate", _clusters(200, 1), 3, method="univariate"),
    _microaggregate("univariate ties", _ties(201, 1), 3, method="univariate"),
    _microaggregate("univariate census", _census(1080, 1), 5, method="univariate"),
]

SEARCHES = [
    *(
        case
        for method in ("anneal", "memetic", "blocks")
        for effort, k, data in (("quick", 8, _clusters(300, 8)), ("standard", 5, _eia(250, 8, 500)))
        for case in _by_seed(
            _microaggregate, f"{method} {effort}", data, k, method=method, effort=effort, variants=THREADS
        )
    ),
    *(
        _microaggregate(
            f"{method} weights", _weighted(100, 3), 3, method=method, effort="quick", weight="weight", variants=THREADS
        )
        for method in ("anneal", "memetic", "blocks")
    ),
    *_by_seed(_microaggregate, "genetic", _clusters(30, 2), 3, method="genetic", generations=1500),
    *(
        _microaggregate(
            f"genetic {operator} {value}", _census(30), 3, method="genetic", generations=500, **{operator: value}
        )
        for operator, values in (
            ("crossover", ("two-point", "uniform")),
            ("selection", ("tournament", "rank")),
            ("inversion", (0.2,)),
        )
        for value in values
    ),
    *_by_seed(
        _microaggregate, "hybrid", _census(90), 4, method="hybrid", generations=300, macro_size=24, variants=THREADS
    ),
    _microaggregate(
        "hybrid direct md",
        _clusters(90, 3),
        3,
        method="hybrid",
        generations=500,
        macro_split="direct",
        heuristic="md",
        macro_size=24,
        runs=2,
        variants=THREADS,
    ),
    _microaggregate("exact by subsets", _clusters(15, 2), 3, method="exact", facts=["proved"]),
    _microaggregate("exact by subsets, weights", _weighted(14, 2), 3, method="exact", weight="weight"),
    _microaggregate("exact by bounds", _census(45, 3), 3, method="exact", facts=["proved"], variants=THREADS),
]

GROUPINGS = [
    *(
        case
        for convention in ("sound", "thesis")
        for case in (
            *(
                found
                for method, budget in (("memetic", 1500), ("gomm", 100), ("d-gomm", 100))
                for found in _by_seed(
                    _group,
                    f"{method} {convention}",
                    _ties(60, 16),
                    3,
                    method=method,
                    convention=convention,
                    evaluations=budget,
                    with_front=True,
                    facts=["front"],
                )
            ),
            _group(f"exact {convention}", _census(60, 5), 3, method="exact", evaluations=200, convention=convention),
            *(
                _group(f"{method} {convention}", _eia(120), 4, method=method, convention=convention)
                for method in ("all", "univariate")
            ),
            *(
                _group(f"{method} {convention}", _census(120), 4, method=method, size=2, convention=convention)
                for method in ("correlated", "uncorrelated")
            ),
        )
    ),
    _group("given", _clusters(100, 4), 3, groups=[["income", "wealth"], ["expenses", "hours"]]),
    _group("round, missing", Made(gaps, (100, 4, 0)), 3, method="correlated", size=2, round=True, missing="median"),
    _group("memetic census", _census(90, 13), 3, method="memetic", evaluations=300),
    _group(
        "search inside",
        _census(90, 6),
        3,
        method="correlated",
        size=3,
        within_groups="search",
        effort="quick",
        facts=["distance_linkage_std", "fitness_estimate"],
    ),
    _group(
        "auto inside, floor",
        _census(90, 6),
        3,
        method="memetic",
        evaluations=100,
        within_groups="auto",
        effort="quick",
        baselines=True,
        joint_k=2,
        facts=["within_groups", "baselines", "split_pays"],
    ),
    *_by_seed(
        _group,
        "sampled linkage",
        _ties(2100, 8),
        5,
        method="memetic",
        evaluations=60,
        with_front=True,
        facts=["front"],
    ),
]

TAXONOMY = {"land": {"plain": ["north", "south", "east"], "high": ["hills"]}, "sea": ["coast", "islands", "west"]}
MAPPING = {
    "format": "shoal generalization",
    "version": 1,
    "k": 3,
    "columns": [
        {
            "name": "age",
            "numeric": True,
            "groups": [
                {"label": "young", "low": 0.0, "high": 40.0, "closed": False},
                {"label": "old", "low": 40.0, "high": 120.0, "closed": True},
            ],
        },
        {
            "name": "region",
            "numeric": False,
            "groups": [
                {"label": "land", "values": ["north", "south", "east", "hills"]},
                {"label": "sea", "values": ["coast", "islands", "west"]},
            ],
        },
    ],
}

PEOPLE, FEW = Made(people, (160, 0)), Made(people, (70, 1))
ADULTS = Slice("adult.csv", ADULT_LABELS, 400)


def _apply(name: str, data: Made, mapping: Mapping[str, Any]) -> Case:
    quasi = tuple(column["name"] for column in mapping["columns"])
    roles = {"quasi": quasi, "confidential": "illness", "identifiers": "name"}
    given = {"mapping": mapping, "seed": 0}
    return Case(f"apply {name}", "apply_mapping", data, quasi, ("effective_k",), roles, given)


MIXED = (
    *(
        _mixed(f"{loss} {method}{ending}", 4, loss=loss, method=method, **rules)
        for loss in ("gini", "changes")
        for method in ("anneal", "memetic", "blocks")
        for ending, rules in (("", {}), (", l and t", {"l": 2, "t": 0.4}))
    ),
    _mixed("changes importance", 5, loss="changes", importance={"job": 2.0}),
)
RECODINGS = [
    _recode("search", 4, effort="quick"),
    _recode("search l", 4, effort="quick", l=2),
    _recode("search nodes", 4, effort="quick", taxonomy={"region": TAXONOMY}),
    _recode("search suppress", 5, effort="quick", suppress=0.1),
    *(_recode(method, 4, method=method) for method in ("topdown", "mondrian")),
    _recode("topdown nodes", 4, method="topdown", loss="nodes"),
    _recode("peel", 4, method="peel", loss="nodes"),
]
GENERALIZATIONS = [
    *_by_seed(_generalize, "search quick", PEOPLE, 5, effort="quick"),
    *_by_seed(_generalize, "search standard", FEW, 3, effort="standard"),
    *_by_seed(
        _generalize, "search adult", ADULTS, 5, quasi=ADULT_LABELS[:-1], confidential="salary", effort="quick", l=2
    ),
    *(
        _generalize(f"search order {order}", PEOPLE, 4, order=order, effort="quick")
        for order in ("alphabetical", "frequency")
    ),
    _generalize(
        "search numbers",
        PEOPLE,
        4,
        quasi=("age", "hours", "job"),
        granularity={"age": 5},
        cuts={"hours": [0, 2, 4, 8]},
        weights={"age": 2.0},
        prefer=(0.3, 0.8),
        effort="quick",
    ),
    _generalize("search pick", PEOPLE, 4, effort="quick", pick=2),
    *_by_seed(_generalize, "search suppress", PEOPLE, 5, suppress=0.1, effort="quick"),
    *(
        _generalize(f"search l {name}", PEOPLE, 4, l=l, effort="quick")
        for name, l in (("distinct", 3), ("entropy", ("entropy", 2.0)), ("recursive", ("recursive", 3, 2)))  # noqa: E741
    ),
    *(
        _generalize(f"search t {distance}", PEOPLE, 4, t=0.25, distance=distance, effort="quick")
        for distance in ("equal", "ordered")
    ),
    _generalize("search suppress, l and t", PEOPLE, 4, suppress=0.15, l=2, t=0.4, effort="quick"),
    _generalize("search taxonomy", PEOPLE, 4, taxonomy={"region": TAXONOMY}, effort="quick"),
    _generalize("search sets", PEOPLE, 5, sets=[["age", "region"], ["region", "job"]], effort="quick"),
    *(
        _generalize(f"search missing {missing}", Made(people_with_gaps, (150, 0)), 4, missing=missing, effort="quick")
        for missing in ("category", "drop")
    ),
    *_by_seed(_generalize, "nsga2", PEOPLE, 4, method="nsga2", population=40, evaluations=4000),
    *_by_seed(_generalize, "nsga2 suppress", PEOPLE, 4, method="nsga2", suppress=0.1, population=40, evaluations=3000),
    _generalize("nsga2 sets", FEW, 3, method="nsga2", sets=[["age"], ["region", "job"]], evaluations=3000),
    _generalize("exact", FEW, 4, quasi=("hours", "region", "job"), method="exact"),
    _generalize("exact l", FEW, 4, quasi=("region", "job"), method="exact", l=3),
    _generalize("exact taxonomy", FEW, 4, quasi=("region", "job"), method="exact", taxonomy={"region": TAXONOMY}),
    _apply("mapping", PEOPLE, MAPPING),
    _apply("mapping, one column", FEW, {**MAPPING, "columns": MAPPING["columns"][1:]}),
]


def _suppress(name: str, data: Made, k: int, *, quasi: tuple[str, ...] = ("age", "region", "job"), **more: Any) -> Case:
    roles = {"quasi": quasi, "confidential": "illness", "identifiers": "name"}
    known = ("suppressed_cells", "by_column", "k_value", "k_wildcard", "lower_bound")
    given = {"k": k, "seed": 0, "effort": "quick", **more}
    return Case(f"suppress {name}", "suppress", data, quasi, known, roles, given, THREADS)


SUPPRESSIONS = [
    *_by_seed(_suppress, "value", PEOPLE, 4),
    _suppress("importance", FEW, 3, importance={"age": 0.5, "region": "never"}),
    _suppress("sets", PEOPLE, 5, sets=[["age", "region"], ["region", "job"]]),
    _suppress("wildcard", FEW, 3, star="wildcard"),
    _suppress("subsets", PEOPLE, 4, subsets=2),
]

GUARDS = Made(guards, (600, 12, 0))
FLOW: dict[str, Any] = {"budget": 60, "steps": 100}
MEMETIC: dict[str, Any] = {"method": "memetic", "runs": 2, "generations": 60, "population": 30, "pairs": 12}

MASKINGS = [
    _mask("flow", GUARDS, **FLOW),
    # Few enough districts and guards for the lower bound to look at every case of the tau test.
    _mask("flow bound", Made(guards, (400, 10, 1)), rule="below", budget=100, steps=3000),
    _mask("flow concentration", GUARDS, signal="concentration", **FLOW),
    _mask("flow difference", GUARDS, signal="difference", second=("job", ["nurse"]), **FLOW),
    _mask("flow nominal", GUARDS, ordinal=[], weights={"sex": 2.0}, chi=(0.5, 1.0), rule="below", **FLOW),
    _mask("flow thresholds", GUARDS, outliers=["D03"], thresholds=[6.0], restriction="linear", root=True, **FLOW),
    *_by_seed(_mask, "memetic", GUARDS, variants=THREADS, tau=True, **MEMETIC),
    _mask("memetic flow seeds", GUARDS, variants=THREADS, flow_seeds=True, **MEMETIC),
]

CASES: list[Case] = [
    *AUTO,
    *OPTIONS,
    *CLASSICAL,
    *SEARCHES,
    *GROUPINGS,
    *MIXED,
    *GENERALIZATIONS,
    *RECODINGS,
    *SUPPRESSIONS,
    *MASKINGS,
]
