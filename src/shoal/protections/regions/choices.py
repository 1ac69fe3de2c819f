"""The names that options of group anonymity accept; the declaration and the search read them here."""

from typing import Literal, get_args

ThresholdRule = Literal["largest", "below"]
RestrictionShape = Literal["zmf", "linear", "step"]
Side = Literal["both", "upper"]

THRESHOLD_RULES: tuple[str, ...] = get_args(ThresholdRule)
RESTRICTION_SHAPES: tuple[str, ...] = get_args(RestrictionShape)
SIDES: tuple[str, ...] = get_args(Side)
