"""Every table and figure of the five publications: which entry reproduces it, or why none does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

THESIS = "GOMM thesis"
CHAPTER = "Solanas 2008, Privacy Protection with Genetic Algorithms"
PAPER = "Solanas et al. 2006, Multivariate Microaggregation Based Genetic Algorithms"
GROUP = "Chertov and Tavrov 2017, Improving efficiency of providing data group anonymity"
BIAS = "Dewri et al. 2009, A multi-objective approach to data sharing with privacy constraints"


class Item(NamedTuple):
    """One published table or figure. If `entry` is empty, `why` says why it is not computed."""

    document: str
    name: str
    about: str
    entry: str = ""
    why: str = ""


PICTURE = "a drawing without printed values"
DIAGRAM = "a diagram of the method"
MONEY = "schedule and budget of the project"


def _operators() -> list[Item]:
    """Figures 4.1 to 4.11 and B.1 to B.8 of the thesis."""
    kinds = ("utilization", "mean lifetime", "efficacy", "efficiency")
    items = []
    for number, kind in enumerate(kinds):
        for together in (0, 1):
            how = "together" if together else "alone"
            name = f"Figure 4.{2 * number + together + 1}"
            items.append(Item(THESIS, name, f"operators {how}: {kind}, Water, k = 25", "operators"))
    items += [
        Item(THESIS, "Figure 4.9", "best cost of each operator alone, Water, k = 25 and 100", "operators"),
        Item(THESIS, "Figure 4.10", "best cost of each operator alone, Census, k = 25 and 100", "operators"),
        Item(THESIS, "Figure 4.11", "mean number of column groups, Water and Census, k = 25", "operators"),
    ]
    for first, where in ((1, "Census, k = 25"), (5, "Water, k = 100")):
        for number, kind in enumerate(kinds):
            items.append(
                Item(THESIS, f"Figure B.{first + number}", f"operators together: {kind}, {where}", "operators")
            )
    return items


def _alike(document: str, printed: Mapping[str, str], entry: str = "", *, why: str = "") -> list[Item]:
    """The items of one entry, or those left out for one reason: what each shows, by its printed name."""
    return [Item(document, name, about, entry, why=why) for name, about in printed.items()]


ITEMS: tuple[Item, ...] = (
    Item(THESIS, "Table 1.1", "the process of microaggregation", why="it has letters instead of values"),
    Item(THESIS, "Figure 1.1", "the process of anonymization", why=DIAGRAM),
    Item(THESIS, "Figure 2.1", "clusters of MDAV", why=PICTURE),
    Item(THESIS, "Table 2.1", "two column groups, k = 2, six records", "gomm"),
    *_alike(
        THESIS,
        {
            "Figure 3.1": "the parts of a chromosome",
            "Figure 3.2": "chromosomes that are clones",
            "Figure 3.3": "the steps of the crossover",
            "Figure 3.4": "renaming of groups in the crossover",
            "Figure 3.5": "the steps of the mutations",
        },
        why=DIAGRAM,
    ),
    Item(THESIS, "Table 3.1", "the time of a run by function", "gomm"),
    *_operators(),
    *_alike(
        THESIS,
        {
            "Table 5.1": "the best column groups of Water",
            "Table 5.2": "the best column groups of Census",
            "Table 5.3": "manual column groups of Water",
            "Table 5.4": "manual column groups of Census",
            "Figure 5.1": "what D-GOMM saves",
        },
        "gomm",
    ),
    *_alike(
        THESIS,
        {
            "Figure 6.1": "the project's schedule",
            "Table 6.1": "salaries",
            "Table 6.2": "the cost of each task",
        },
        why=MONEY,
    ),
    *_alike(
        THESIS,
        {
            "Table A.1": "manual column groups of Census, and column groups by correlation",
            "Table A.2": "manual column groups of Water, and column groups by correlation",
        },
        "gomm",
    ),
    Item(CHAPTER, "Fig. 1", "records before and after microaggregation", why=PICTURE),
    Item(CHAPTER, "Table 1", "eleven companies", "sme"),
    *_alike(
        CHAPTER,
        {
            "Table 2": "a(n,k): the number of kinds of candidate partitions",
            "Example 2": "the probability that a random chromosome is a candidate",
        },
        "representatives",
    ),
    Item(CHAPTER, "Fig. 2", "two macro-groups of the hybrid", why=PICTURE),
    *_alike(
        CHAPTER,
        {
            "Table 3": "exhaustive search, MDAV and the genetic algorithm on the companies",
            "Fig. 3": "convergence of the runs on the companies",
        },
        "sme",
    ),
    *_alike(
        CHAPTER,
        {
            "Table 4": "lowest SSE on larger random sets",
            "Table 5": "mean of the lowest SSE on larger random sets",
            "Table 6": "SSE on eleven records of 5, 7 and 10 columns",
        },
        "ga-small",
    ),
    Item(CHAPTER, "Table 7", "the two-step hybrid against MDAV", "hybrid"),
    *_alike(
        PAPER,
        {
            "Table I": "a(n,k): the number of kinds of candidate partitions",
            "Example 1": "mu and the probability that a random chromosome is a candidate",
        },
        "representatives",
    ),
    *_alike(
        PAPER,
        {
            "Fig. 1": "mean SSE over the rates, 11x2 and 11x3",
            "Fig. 2": "mean convergence generation over the rates, 11x2",
            "Fig. 3": "mean convergence generation over the rates, 11x3",
            "Fig. 4": "mean SSE over the rates, 20x2, 35x2, 50x2, 100x2",
        },
        "sensitivity",
    ),
    *_alike(
        PAPER,
        {
            "Table II": "lowest and mean SSE on larger random sets",
            "Table III": "mean convergence generation of the best runs",
            "Table IV": "SSE on eleven records of 5, 7 and 10 columns",
        },
        "ga-small",
    ),
    Item(PAPER, "Table V", "the best ranges of the rates and the population", "sensitivity"),
    *_alike(
        GROUP,
        {
            "Fig. 1": "the restrictions on the two outlier regions",
            "Table 1": "the thirteen matching columns and their codes",
            "Table 2": "the parameters of the memetic algorithm",
            "Table 3": "24 feasible solutions, their metric, compatibility and outliers",
            "Fig. 2": "the signal before and after",
        },
        "military",
    ),
    *_alike(
        BIAS,
        {
            "Table 1": "columns of Adult and the sizes of their domains",
            "Figure 1": "loss and bias of the fronts for six k",
            "Figure 2": "three population sizes",
            "Figure 3": "five weight vectors",
            "Figure 4": "the preferred bias",
        },
        "adult",
    ),
)


def of_entry(entry: str) -> list[Item]:
    """The items that an entry reproduces."""
    return [item for item in ITEMS if item.entry == entry]
