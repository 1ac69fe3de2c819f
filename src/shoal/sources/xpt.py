"""SAS transport files."""

from __future__ import annotations

from shoal.sources.labelled import labelled_format

FORMAT = labelled_format(
    "xpt",
    "SAS transport",
    (".xpt",),
    keeps="column labels and formats",
    loses="value labels; missing codes; texts above 32,767 bytes",
)
