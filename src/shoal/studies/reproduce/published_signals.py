"""Tables of Chertov and Tavrov 2017 as published: matching columns, parameters and 24 feasible solutions.

A row of Table 3: fitness, metric, compatibility, outlier regions (counted from 1), and the modified signal.
"""

from __future__ import annotations

from typing import NamedTuple

ORIGINAL_OUTLIERS = {5: 97, 29: 45}  # regions and their target records
TOTAL, RECORDS, DISTRICTS, THRESHOLD = 185, 91_398, 38, 10

# The text: the mean metric of the feasible solutions, as a share of all cells, and the feasible share of all solutions.
PRINTED_MEAN_METRIC, PRINTED_CELLS_PERCENT, PRINTED_FEASIBLE_PERCENT = 467.958, 0.04, 2.4
PRINTED_SOLUTIONS = 1_000

# Table 1: the matching columns (influential attributes) and their codes, in short.
CODES = (
    ("age", "0 to 135"),
    ("educational attainment", "0 to 11"),
    ("sex", "1, 2"),
    ("race", "1 to 9"),
    ("usual hours worked per week", "0 to 99"),
    ("Hispanic origin", "0 to 4, 9"),
    ("marital status", "1 to 6"),
    ("means of transportation to work", "0 to 70"),
    ("time of departure for work", "0 to 2359"),
    ("travel time to work", "minutes"),
    ("weeks worked last year", "0 to 6"),
    ("total personal income", "USD"),
    ("speaks English", "0 to 8"),
)

# Table 2: the parameter, its name in Shoal, its value.
PARAMETERS: tuple[tuple[str, str, float], ...] = (
    ("population size", "population", 100),
    ("pairs of parents", "pairs", 40),
    ("recombination probability", "recombination", 1),
    ("mutation probability", "mutation", 0.001),
    ("local search parameter", "p_mem", 0.75),
    ("tournament size", "tournament", 5),
    ("compatibility threshold", "compatibility", 0.5),
    ("sensitivity threshold", "sensitivity", 0.0),
    ("distortion threshold", "distortion", 0.3),
    ("runs", "runs", 10),
    ("generations in each run", "generations", 1000),
)


class Row(NamedTuple):
    fitness: float
    metric: int
    compatibility: float
    outliers: tuple[int, ...]
    signal: tuple[int, ...]


_TEXT = """
0.772 407 0.990 35 2,2,1,7,14,1,14,0,5,0,2,8,0,1,1,1,4,11,1,9,0,3,2,3,2,0,3,0,13,0,4,14,4,5,23,7,12,6
0.772 410 0.993 35 2,1,1,5,15,1,13,0,4,0,2,8,0,1,1,1,4,11,1,7,0,4,2,4,3,0,5,1,12,0,4,13,4,7,21,7,13,7
0.762 430 0.998 35 2,2,1,3,14,1,11,0,4,0,3,9,0,1,1,1,4,11,1,7,0,3,2,5,3,0,4,0,9,0,4,10,4,7,29,7,13,9
0.757 432 0.999 35 1,2,3,3,13,1,10,1,6,1,3,10,0,0,1,3,5,6,2,2,0,2,1,1,3,0,3,2,8,1,8,8,14,3,29,7,12,10
0.755 437 1.000 35,37,38 1,1,2,0,11,1,10,0,6,0,4,9,0,1,1,1,5,8,3,5,0,4,0,0,2,1,4,2,10,0,7,7,8,4,30,7,15,15
0.748 450 1.000 35,37 0,0,1,1,11,1,11,0,5,0,3,12,0,1,2,1,6,7,2,5,0,2,1,2,1,1,2,3,10,0,7,4,11,2,32,8,18,12
0.716 459 1.000 7,12,35,37 1,0,1,1,10,1,12,0,6,0,4,12,0,1,2,1,6,8,2,6,0,2,1,2,2,1,2,2,8,0,6,4,10,2,33,8,17,11
0.714 461 1.000 12,33,35 0,0,1,1,7,1,8,0,9,0,2,17,1,0,0,5,3,6,4,5,0,0,4,7,0,0,2,1,11,1,5,3,14,2,38,6,12,9
0.659 464 1.000 35,37 1,1,2,0,8,1,11,0,9,0,5,11,0,1,2,1,5,10,3,5,0,2,0,0,1,1,3,2,8,0,7,6,11,3,28,8,17,12
0.726 466 1.000 7,35,37 0,4,1,7,10,2,16,1,8,0,7,11,1,2,1,1,3,6,1,5,1,5,1,1,1,1,1,2,9,0,6,2,9,1,29,5,13,11
0.691 466 1.000 7,35,37,38 0,2,3,6,10,2,12,2,7,0,2,11,1,1,1,2,3,6,3,6,0,2,1,1,4,0,1,0,7,1,6,3,7,5,29,6,16,16
0.658 468 1.000 7,32,35,37 2,1,1,6,9,1,15,0,5,0,3,8,0,0,1,1,4,7,1,5,0,5,1,6,2,1,6,0,7,0,5,13,5,5,28,7,13,11
0.689 470 1.000 33,35,37 1,2,4,5,9,1,10,1,6,1,4,10,0,0,1,3,6,6,2,2,0,0,1,2,4,0,4,3,8,1,6,5,15,5,27,7,14,9
0.729 472 0.997 35 0,0,1,8,8,1,14,0,6,1,2,11,2,3,2,2,3,7,2,5,0,0,0,2,0,0,1,4,12,1,9,8,13,3,29,6,9,10
0.688 472 1.000 7,35,37,38 0,3,5,7,10,2,12,1,7,0,2,9,0,2,0,2,3,6,2,5,0,2,1,2,2,0,1,0,7,1,6,2,11,6,29,6,17,14
0.708 475 1.000 7,18,32,35,37 2,2,1,7,9,1,15,0,4,0,2,7,0,1,1,1,4,11,1,8,0,3,2,4,3,0,4,0,9,0,4,15,5,5,26,7,15,6
0.652 479 1.000 35 2,1,1,8,8,1,14,0,4,0,3,7,0,0,1,1,4,9,1,8,0,3,1,4,3,0,5,0,8,0,4,11,4,7,32,7,14,9
0.682 483 1.000 12,32,35,37 4,0,1,3,9,1,10,0,6,1,3,14,1,1,0,1,3,7,1,2,0,3,1,0,3,6,4,0,8,2,10,19,9,6,22,6,13,5
0.681 485 1.000 33,35 0,2,5,3,10,1,8,1,8,1,3,10,0,0,1,4,6,6,2,2,0,1,1,1,4,0,3,3,7,1,8,5,15,5,33,7,11,7
0.539 486 1.000 35,37 1,0,1,1,9,1,13,0,8,0,6,10,0,0,1,1,4,9,3,5,0,2,1,2,5,1,3,3,5,0,7,6,9,5,28,7,16,12
0.537 490 1.000 7,33,35 0,0,1,7,4,1,16,0,6,1,2,9,2,3,4,3,3,6,2,4,0,1,0,2,0,0,1,3,10,1,10,6,16,3,33,6,10,9
0.363 505 1.000 7,35 2,1,1,8,4,1,17,0,4,0,3,7,0,0,1,1,4,9,1,10,0,4,1,2,3,0,4,0,8,0,4,13,3,7,32,7,13,10
0.450 513 1.000 32,35,37 2,0,1,5,8,1,10,0,5,3,3,11,1,1,0,1,3,7,1,2,0,2,1,0,4,6,6,0,5,2,10,13,12,6,30,6,13,4
0.013 551 1.000 7,18,20,32,35,37 2,2,1,6,0,1,13,0,4,0,2,9,0,2,2,1,4,13,1,11,0,5,3,4,4,0,5,0,4,0,5,17,4,5,23,8,15,9
"""


def _row(line: str) -> Row:
    fitness, metric, compatibility, outliers, signal = line.split()
    return Row(
        float(fitness),
        int(metric),
        float(compatibility),
        tuple(map(int, outliers.split(","))),
        tuple(map(int, signal.split(","))),
    )


ROWS = tuple(map(_row, _TEXT.strip().splitlines()))
