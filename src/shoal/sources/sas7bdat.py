"""SAS files, which Shoal can read but not write."""

from __future__ import annotations

from shoal.sources.labelled import labelled_format

FORMAT = labelled_format(
    "sas7bdat",
    "SAS",
    (".sas7bdat",),
    keeps="column labels and formats",
    loses="files can be read, not written",
    instead=(".xpt", ".sav"),
)
