"""SPSS files, plain and compressed."""

from __future__ import annotations

from shoal.sources.labelled import labelled_format

FORMAT = labelled_format(
    "sav",
    "SPSS",
    (".sav", ".zsav"),
    keeps="value labels, column labels, user-missing codes, formats and measures",
    loses="blanks at the end of a text; texts above 32,767 bytes; file label and notes",
)
