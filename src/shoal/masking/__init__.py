"""Group anonymity: hide where a group is concentrated, by swapping records (Chertov and Tavrov 2017)."""

from shoal.masking import outliers as outliers
