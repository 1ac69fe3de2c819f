"""The values published in the GOMM thesis: Tables 2.1, 3.1, 5.1 to 5.4 and the column groups of Tables A.1 and A.2."""

from __future__ import annotations

KS = (5, 10, 25, 50, 100)

# Table 2.1: six records of two columns, each column protected by itself, k = 2.
EXAMPLE: dict[str, list[tuple[float, float]]] = {
    "original": [(1, 2), (3, 6), (5, 3), (8, 9), (12, 8), (13, 10)],
    "protected": [(2, 1.5), (2, 7), (6.5, 1.5), (6.5, 9.5), (12.5, 7), (12.5, 9.5)],
}

# Tables 5.1 and 5.2: k -> fitness, number of groups, IL, ID, DLD.
BEST: dict[str, dict[int, tuple[float, int, float, float, float]]] = {
    "water": {
        5: (24.85, 1, 35.74, 27.93, 0.00),
        10: (30.29, 1, 48.05, 25.07, 0.00),
        25: (32.31, 2, 49.52, 24.14, 6.05),
        50: (34.32, 3, 52.78, 23.85, 7.89),
        100: (36.34, 5, 58.33, 22.92, 5.79),
    },
    "census": {
        5: (12.01, 1, 8.01, 32.01, 0.00),
        10: (12.46, 1, 11.97, 25.90, 0.00),
        25: (13.08, 2, 13.67, 22.12, 2.87),
        50: (13.22, 2, 15.64, 20.31, 1.30),
        100: (13.74, 3, 16.28, 18.60, 3.80),
    },
}

# Tables 5.3 and 5.4: the fitness of each grouping at the five k, truncated to one decimal.
HAND_MADE: dict[str, dict[str, tuple[float, ...]]] = {
    "water": {
        "all": (24.8, 30.2, 36.2, 41.7, 50.4),
        "univariate": (49.3, 48.9, 47.2, 45.0, 46.1),
        "correlated10": (43.8, 45.3, 44.0, 40.9, 40.4),
        "uncorrelated10": (43.4, 45.9, 44.0, 41.1, 44.7),
        "correlated5": (42.1, 43.9, 47.0, 49.5, 45.5),
        "uncorrelated5": (42.7, 45.3, 48.7, 49.8, 49.7),
        "correlated3": (42.4, 43.2, 46.6, 50.1, 52.3),
        "uncorrelated3": (42.2, 43.3, 46.1, 49.7, 52.2),
    },
    "census": {
        "all": (12.0, 12.4, 14.2, 15.5, 17.9),
        "univariate": (48.9, 48.1, 45.3, 41.8, 37.6),
        "correlated4": (39.7, 37.3, 31.4, 24.4, 16.6),
        "uncorrelated4": (34.5, 27.8, 19.6, 14.9, 15.1),
        "correlated3": (40.4, 38.0, 33.1, 27.0, 20.1),
        "uncorrelated3": (38.0, 34.3, 27.5, 20.9, 16.2),
    },
}

# Tables A.1 and A.2: columns numbered from 1; "all" and "univariate" need no list.
GROUPINGS: dict[str, dict[str, list[list[int]]]] = {
    "census": {
        "correlated4": [
            [2, 4, 6, 7],
            [5, 10, 11, 12],
            [1, 3, 8, 9],
        ],
        "uncorrelated4": [
            [1, 2, 4, 5],
            [3, 6, 10, 11],
            [7, 8, 9, 12],
        ],
        "correlated3": [
            [2, 4, 7],
            [3, 11, 12],
            [5, 6, 10],
            [1, 8, 9],
        ],
        "uncorrelated3": [
            [2, 3, 5],
            [8, 10, 11],
            [7, 9, 12],
            [1, 4, 6],
        ],
    },
    "water": {
        "correlated10": [
            [1, 4, 5, 6, 7, 11, 13, 17, 20, 36],
            [3, 9, 10, 15, 16, 18, 21, 22, 23, 29],
            [2, 8, 12, 14, 19, 26, 28, 31, 33, 37],
            [24, 25, 27, 30, 32, 34, 35, 38],
        ],
        "uncorrelated10": [
            [1, 2, 3, 24, 4, 9, 8, 25, 5, 10],
            [12, 27, 6, 15, 14, 30, 7, 16, 19, 32],
            [11, 18, 26, 34, 13, 21, 28, 35, 17, 22],
            [20, 36, 29, 23, 31, 33, 37, 38],
        ],
        "correlated5": [
            [1, 4, 5, 6, 7],
            [11, 13, 17, 20, 36],
            [3, 9, 10, 15, 16],
            [18, 21, 22, 23, 29],
            [2, 8, 12, 14, 19],
            [26, 28, 31, 33, 37],
            [24, 25, 27, 30],
            [32, 34, 35, 38],
        ],
        "uncorrelated5": [
            [1, 2, 3, 24, 4],
            [9, 8, 25, 5, 10],
            [12, 27, 6, 15, 14, 30],
            [7, 16, 19, 32],
            [11, 18, 26, 34, 13, 21],
            [28, 35, 17, 22],
            [20, 36, 29, 23],
            [31, 33, 37, 38],
        ],
        "correlated3": [
            [1, 4, 5],
            [6, 7, 11],
            [13, 17, 20],
            [3, 9, 10],
            [15, 16, 18],
            [21, 22, 23],
            [2, 8, 12],
            [14, 19, 26],
            [28, 31, 33],
            [29, 36, 37],
            [24, 25, 27],
            [30, 32, 34],
            [35, 38],
        ],
        "uncorrelated3": [
            [1, 2, 3],
            [24, 4, 9],
            [8, 25, 5],
            [12, 27, 6],
            [15, 14, 30],
            [7, 16, 19],
            [11, 18, 26],
            [34, 13, 21],
            [28, 35, 17],
            [10, 32, 22],
            [20, 36, 29],
            [23, 31, 33],
            [37, 38],
        ],
    },
}

# Table 3.1: percent of the time, seconds and calls of each part of a run on Water (868 s in all).
PROFILE: dict[str, tuple[float, float, int]] = {
    "MDAV": (66.86, 580.36, 10200),
    "euclideanDistance": (27.33, 237.21, 714112812),
    "computeSingleID": (4.94, 42.89, 102000),
    "score": (0.85, 7.36, 10200),
    "initOriginalData": (0.02, 0.19, 1),
}
