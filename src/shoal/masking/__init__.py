"""Group anonymity: hide where a group is concentrated, by swapping records between districts (spec/4)."""

from shoal.masking import outliers as outliers
