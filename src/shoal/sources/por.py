"""SPSS portable files."""

from __future__ import annotations

from shoal.sources.labelled import labelled_format

FORMAT = labelled_format(
    "por",
    "SPSS portable",
    (".por",),
    keeps="values; codes declared missing are read as missing",
    loses="value labels; missing codes; texts above 255 bytes",
)
