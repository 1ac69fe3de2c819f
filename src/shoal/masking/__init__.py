"""Group anonymity (Chertov and Tavrov 2017), by its earlier name; the code is in `shoal.protections.regions`."""

from shoal.protections.regions import outliers as outliers
