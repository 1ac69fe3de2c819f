"""Every table and figure that the five documents print: which entry makes it again, or why none does."""

from __future__ import annotations

from typing import NamedTuple

THESIS = "Attribute grouping (GOMM), degree thesis"
CHAPTER = "Solanas 2008, Privacy protection with genetic algorithms"
PAPER = "Solanas et al. 2006, Multivariate microaggregation based genetic algorithms"
GROUP = "Chertov and Tavrov, Group anonymity by a memetic algorithm"
BIAS = "Dewri et al., k-anonymization with preferences by NSGA-II"


class Item(NamedTuple):
    """One printed table or figure. Where `entry` is empty, `why` says why it is not computed."""

    document: str
    name: str
    about: str
    entry: str = ""
    why: str = ""


PICTURE = "a drawing; its points are not printed"
DIAGRAM = "a diagram of the method"
MONEY = "the project's schedule and budget, no data protection"


def _operators() -> list[Item]:
    """Figures 4.1 to 4.11 and B.1 to B.8 of the thesis."""
    kinds = ("utilisation", "mean lifetime", "efficacy", "efficiency")
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


ITEMS: tuple[Item, ...] = (
    Item(THESIS, "Table 1.1", "the process of microaggregation", why="letters that stand for values, no figures"),
    Item(THESIS, "Figure 1.1", "the process of anonymization", why=DIAGRAM),
    Item(THESIS, "Figure 2.1", "clusters made by MDAV", why=PICTURE),
    Item(THESIS, "Table 2.1", "two column groups, k = 2, six records", "gomm"),
    Item(THESIS, "Figure 3.1", "the parts of a chromosome", why=DIAGRAM),
    Item(THESIS, "Figure 3.2", "chromosomes that are clones", why=DIAGRAM),
    Item(THESIS, "Figure 3.3", "the steps of the crossover", why=DIAGRAM),
    Item(THESIS, "Figure 3.4", "how the crossover renames groups", why=DIAGRAM),
    Item(THESIS, "Figure 3.5", "the steps of the mutations", why=DIAGRAM),
    Item(THESIS, "Table 3.1", "where the time of a run goes", "gomm"),
    *_operators(),
    Item(THESIS, "Table 5.1", "the best groupings of Water", "gomm"),
    Item(THESIS, "Table 5.2", "the best groupings of Census", "gomm"),
    Item(THESIS, "Table 5.3", "hand-made groupings of Water", "gomm"),
    Item(THESIS, "Table 5.4", "hand-made groupings of Census", "gomm"),
    Item(THESIS, "Figure 5.1", "what D-GOMM saves", "gomm"),
    Item(THESIS, "Figure 6.1", "the project's schedule", why=MONEY),
    Item(THESIS, "Table 6.1", "salaries", why=MONEY),
    Item(THESIS, "Table 6.2", "the cost of each task", why=MONEY),
    Item(THESIS, "Table A.1", "the hand-made groupings of Census, and ours by correlation", "gomm"),
    Item(THESIS, "Table A.2", "the hand-made groupings of Water, and ours by correlation", "gomm"),
    Item(CHAPTER, "Fig. 1", "records before and after microaggregation", why=PICTURE),
    Item(CHAPTER, "Table 1", "eleven companies", "sme"),
    Item(CHAPTER, "Table 2", "a(n,k): how many kinds of candidate partitions there are", "representatives"),
    Item(CHAPTER, "Example 2", "the chance that a random chromosome is a candidate", "representatives"),
    Item(CHAPTER, "Fig. 2", "two macro-groups of the hybrid", why=PICTURE),
    Item(CHAPTER, "Table 3", "exhaustive search, MDAV and the genetic algorithm on the companies", "sme"),
    Item(CHAPTER, "Fig. 3", "when the runs on the companies converge", "sme"),
    Item(CHAPTER, "Table 4", "least SSE on larger random sets", "ga-small"),
    Item(CHAPTER, "Table 5", "mean of the least SSE on larger random sets", "ga-small"),
    Item(CHAPTER, "Table 6", "SSE on eleven records of 5, 7 and 10 columns", "ga-small"),
    Item(CHAPTER, "Table 7", "the two-step hybrid against MDAV", "hybrid"),
    Item(PAPER, "Table I", "a(n,k): how many kinds of candidate partitions there are", "representatives"),
    Item(PAPER, "Example 1", "mu and the chance that a random chromosome is a candidate", "representatives"),
    Item(PAPER, "Fig. 1", "mean SSE over the rates, 11x2 and 11x3", "sensitivity"),
    Item(PAPER, "Fig. 2", "mean convergence generation over the rates, 11x2", "sensitivity"),
    Item(PAPER, "Fig. 3", "mean convergence generation over the rates, 11x3", "sensitivity"),
    Item(PAPER, "Fig. 4", "mean SSE over the rates, 20x2, 35x2, 50x2, 100x2", "sensitivity"),
    Item(PAPER, "Table II", "least and mean SSE on larger random sets", "ga-small"),
    Item(PAPER, "Table III", "mean convergence generation of the best runs", "ga-small"),
    Item(PAPER, "Table IV", "SSE on eleven records of 5, 7 and 10 columns", "ga-small"),
    Item(PAPER, "Table V", "the best ranges of the rates and the population", "sensitivity"),
    Item(GROUP, "Fig. 1", "the restrictions on the two outlying districts", "military"),
    Item(GROUP, "Table 1", "the thirteen influential attributes and their codes", "military"),
    Item(GROUP, "Table 2", "the parameters of the memetic algorithm", "military"),
    Item(GROUP, "Table 3", "24 feasible solutions, their metric, compatibility and outliers", "military"),
    Item(GROUP, "Fig. 2", "the signal before and after", "military"),
    Item(BIAS, "Table 1", "attributes of Adult and the sizes of their domains", "adult"),
    Item(BIAS, "Figure 1", "loss and bias of the fronts for six k", "adult"),
    Item(BIAS, "Figure 2", "three population sizes", "adult"),
    Item(BIAS, "Figure 3", "five weight vectors", "adult"),
    Item(BIAS, "Figure 4", "the preferred bias", "adult"),
)


def of_entry(entry: str) -> list[Item]:
    """What an entry makes again."""
    return [item for item in ITEMS if item.entry == entry]
