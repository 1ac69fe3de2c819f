"""Stata files."""

from __future__ import annotations

from shoal.sources.labelled import labelled_format

FORMAT = labelled_format(
    "dta",
    "Stata",
    (".dta",),
    keeps="value labels of whole numbers, column labels, formats, missing values with a letter (`.a`)",
    loses="user-missing codes; file label and notes",
)
