"""The synthetic microfile of `shoal.studies.microfile` as a masking task, for the studies."""

from __future__ import annotations

import numpy as np

from shoal.protections.regions.similarity import matching_values
from shoal.protections.regions.task import MaskingLimits, Task, masking_task
from shoal.studies.microfile import INFLUENTIAL, TARGET_VALUES, military_microfile


def military_task(seed: int = 0, limits: MaskingLimits | None = None, threshold: float | None = None) -> Task:
    """Return the masking task; all columns are categorical with weight 1, as in Chertov and Tavrov 2017.

    threshold: that of both outlier regions; 10 in the publication.
    """
    columns = military_microfile(seed)
    codes = np.stack([np.unique(columns[name], return_inverse=True)[1] for name in INFLUENTIAL], axis=1)
    thresholds = None if threshold is None else np.full(2, threshold)
    return masking_task(
        columns["PWPUMA00"].astype(np.int64) - 1,
        np.isin(columns["OCCSOC"], TARGET_VALUES),
        matching_values(np.empty((codes.shape[0], 0)), codes),
        limits=limits,
        outlying=None if threshold is None else np.array([4, 28]),
        threshold=thresholds,
    )
