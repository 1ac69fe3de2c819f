"""The names that options on columns accept: scalings, orders of names, and units of dates.

Declarations import them, so this module imports only the standard library.
"""

from typing import Literal, get_args

Scaling = Literal["standard", "minmax", "none"]
SCALINGS: tuple[str, ...] = get_args(Scaling)
ORDERS = ("auto", "alphabetical", "frequency", "taxonomy", "codes")
UNITS = ("day", "month", "quarter", "year")
