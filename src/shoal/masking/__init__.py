"""The earlier name of `shoal.protections.regions`, kept for programs that import the test for outliers from here."""

from shoal.protections.regions import outliers as outliers
