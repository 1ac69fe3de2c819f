"""The values published in Solanas et al. 2006 and Solanas 2008 (docs/references.md).

None stands for a value that a table leaves out.
"""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]


def _rows(columns: str, *lines: tuple[Any, ...]) -> Rows:
    names = columns.split()
    return [dict(zip(names, line, strict=True)) for line in lines]


# 2008 Table 2, 2006 Table I: a(n,k).
REPRESENTATIVES: Rows = _rows(
    "n k3 k4 k5",
    (10, 2, 2, 1),
    (20, 6, 6, 5),
    (30, 11, 14, 14),
    (40, 18, 27, 29),
    (50, 26, 45, 56),
    (100, 94, 272, 520),
    (500, 2134, 26477, 197549),
    (1000, 8434, 205037, 2953389),
)

# 2008 Example 2, 2006 Example 1: k = 3.
EXAMPLE = {"n": 30, "mu": 1208883745669600000, "bound": 13.2977212023656e-12}

# 2008 Table 3: the eleven companies, k = 3. MDAV's time is printed as "<1 s"; the genetic algorithm's is
# that of 5,000 generations, and it reaches the optimum in 91 % of 12,100 runs.
COMPANIES: Rows = _rows(
    "method seconds sse",
    ("exhaustive search", 717, 14.82),
    ("mdav", 1, 18.29),
    ("genetic", 14, 14.82),
)
COMPANIES_OPTIMAL_PERCENT = 91

# 2008 Tables 4 to 6, 2006 Tables II to IV and section III.A: random sets, k = 3. `best` and `mean` are the least
# SSE of all runs and the least mean over (mutation, crossover), with the settings that gave them.
SMALL_SETS: Rows = _rows(
    "n d optimum mdav best best_mutation best_crossover best_population mean mean_mutation mean_crossover converged",
    (11, 2, 6.83, None, 6.83, None, None, None, None, None, None, 1384),
    (11, 3, 15.20, None, 15.20, None, None, None, None, None, None, None),
    (11, 5, 29.36, 39.11, 29.36, None, None, None, None, None, None, 931),
    (11, 7, 43.28, 52.47, 43.28, None, None, None, None, None, None, 839),
    (11, 10, 68.66, 71.14, 68.66, None, None, None, None, None, None, 705),
    (20, 2, None, 5.39, 4.29, 0.1, 0.4, 60, 4.61, 0.1, 0.7, 3251),
    (35, 2, None, 5.01, 3.13, 0.1, 0.1, 90, 3.59, 0.1, 0.5, 5269),
    (50, 2, None, 5.92, 4.02, 0.1, 0.1, 50, 4.67, 0.1, 0.5, 53405),
    (100, 2, None, 5.48, 15.37, 0.1, 0.2, 50, 23.78, 0.1, 0.0, None),
)

# 2008 Table 7: the two-step hybrid on MDAV, k = 3. One percentage is left out there.
HYBRID: Rows = _rows(
    "dataset macro_size mdav macro_groups sse improvement",
    ("scattered", 12, 4.71, 83, 4.28, 9),
    ("scattered", 18, 4.71, 56, 4.33, 8),
    ("scattered", 27, 4.71, 38, 4.58, 3),
    ("clustered", 12, 3.57, 84, 2.84, 20),
    ("clustered", 18, 3.57, 56, 2.14, 40),
    ("clustered", 27, 3.57, 41, 2.09, 41),
    ("census", 12, 799, 91, 768, 4),
    ("census", 18, 799, 61, 767, 4),
    ("census", 27, 799, 41, 789, None),
    ("eia", 12, 217, 342, 189, 13),
    ("eia", 18, 217, 228, 186, 14),
    ("eia", 27, 217, 152, 197, 9),
)

# 2006 Table V: the best ranges by the sensitivity analysis.
BEST_RANGES: Rows = _rows(
    "n d mutation crossover population",
    (11, 2, (0.1, 1.0), (0.3, 1.0), (80, 100)),
    (11, 3, (0.1, 1.0), (0.5, 1.0), (60, 100)),
    (20, 2, (0.1, 0.3), (0.1, 1.0), (80, 100)),
    (35, 2, (0.1, 0.1), (0.0, 0.3), (90, 100)),
    (50, 2, (0.1, 0.1), (0.0, 1.0), (60, 100)),
    (100, 2, (0.1, 0.1), (0.0, 0.8), (70, 100)),
)
