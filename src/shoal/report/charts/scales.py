"""Axes: positions of values, and ticks whose texts fit side by side.

Ticks are multiples of 1, 2 or 5 times a power of ten. They are chosen for the narrowest drawing, such as on a phone;
further ticks are shown only on wide drawings.
"""

from __future__ import annotations

import itertools
import math
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

NARROW, ROOMY = 250.0, 520.0  # width in pixels on which ticks must fit: a phone, and half a page
GAP = 10.0  # pixels between two texts
LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Tick:
    """A tick of an axis, at a share of its length; a `roomy` tick is shown only on a wide drawing."""

    share: float
    text: str
    roomy: bool = False


@dataclass(frozen=True)
class Scale:
    """An axis from low to high, with its ticks."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    log: bool = False

    def share(self, value: float) -> float:
        """The position of a value, from 0 to 1."""
        low, high, value = (math.log10(v) if self.log else v / 2 for v in (self.low, self.high, value))
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5


def present(values: Iterable[float | None]) -> list[float]:
    """The values that can be drawn."""
    return [float(v) for v in values if v is not None and math.isfinite(v)]


def spread(values: Iterable[float | None], below: float = 0.04, above: float = 0.04) -> tuple[float, float]:
    """The ends of an axis for these values, with space at both ends; the values may be equal or missing."""
    drawn = present(values)
    low, high = (min(drawn), max(drawn)) if drawn else (0.0, 1.0)
    width = high - low
    if width <= max(abs(low), abs(high)) * 1e-12 or width < 1e-300:
        width = abs(low) / 4 or 1.0
        below = above = 1.0
    return max(-LARGEST, low - below * width), min(LARGEST, high + above * width)


def linear(low: float, high: float, most: float = 6) -> Scale:
    """An axis with at most about `most` ticks."""
    scale = Scale(low, high, ())
    values, step, first = _round_values(low, high, most)
    largest = max(map(abs, values), default=0.0)
    ticks = [Tick(scale.share(v), spelled(v, step, largest)) for v in values]
    return replace(scale, ticks=tuple(_multiples(ticks, first)))


def logarithmic(low: float, high: float, most: int = 6) -> Scale:
    """An axis of powers of ten; a short axis also has 2 and 5 times these. `low` is above 0."""
    low, high = low / 1.2, min(LARGEST, high * 1.2)
    scale = Scale(low, high, (), log=True)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if last - first <= 2 else (1,)
    every = max(1, math.ceil((last - first) / most)) if len(factors) == 1 else 1
    powers = [(m, power) for power in range(first, min(last, 307) + 1, every) for m in factors]
    inside = [v for v in (float(f"{m}e{power}") for m, power in powers) if low <= v <= high]
    ticks = [Tick(scale.share(v), spelled(v, v, v)) for v in inside]
    if len(ticks) < 2:  # with a factor below about three, there are too few powers of ten
        values, step, _ = _round_values(low, high, 4)
        ticks = [Tick(scale.share(v), spelled(v, step, high)) for v in values]
    return replace(scale, ticks=tuple(_multiples(ticks, 0)))


def _round_values(low: float, high: float, most: float) -> tuple[list[float], float, int]:
    """The multiples of a round step between two ends, the step, and the number of the first multiple."""
    wanted = high / most - low / most
    power = math.floor(math.log10(wanted))
    steps = [float(f"{m}e{power}") for m in (1, 2, 5)]
    step = next((s for s in steps if s >= wanted * (1 - 1e-9)), float(f"1e{power + 1}"))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, min(last, first + 4 * math.ceil(most)) + 1)], step, first


def named(names: Sequence[str]) -> Scale:
    """An axis with a position for each name, 0 for the first."""
    scale = Scale(-0.5, max(len(names), 1) - 0.5, ())
    ticks = [Tick(scale.share(i), shortened(name, 14)) for i, name in enumerate(names)]
    return replace(scale, ticks=tuple(_multiples(ticks, 0)))


def _multiples(ticks: Sequence[Tick], first: int) -> list[Tick]:
    """Every tick, or every second, fifth, tenth and so on, so that their texts fit side by side."""
    counts = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

    def chosen(every: int) -> list[int]:
        return [i for i in range(len(ticks)) if (first + i) % every == 0]

    def fits(every: int, width: float) -> bool:
        boxes = [placed(ticks[i], width) for i in chosen(every)]
        return all(a[1] + GAP <= b[0] for a, b in itertools.pairwise(boxes))

    roomy = next((c for c in counts if fits(c, ROOMY)), 0)
    narrow = next((c for c in counts if roomy and c % roomy == 0 and fits(c, NARROW)), 0)
    if not roomy or not narrow:
        return list(ticks[:1])
    always = set(chosen(narrow)) or set(chosen(roomy)[:1])
    return [replace(ticks[i], roomy=i not in always) for i in sorted({*chosen(roomy), *always})]


def placed(tick: Tick, width: float) -> tuple[float, float]:
    """The left and right end of a tick's text in pixels; at the ends of the axis it is moved inside."""
    place, half = tick.share * width, text_width(tick.text) / 2
    side = anchor(tick)
    if side == "start":
        return place, place + 2 * half
    return (place - 2 * half, place) if side == "end" else (place - half, place + half)


def anchor(tick: Tick) -> str:
    """Which end of the text is at the tick, so that texts at the ends of the axis do not leave the drawing."""
    half = text_width(tick.text) / 2
    if tick.share * NARROW < half - 24:
        return "start"
    return "end" if (1 - tick.share) * NARROW < half - 10 else "middle"


def spelled(value: float, step: float, largest: float) -> str:
    """The value of a tick with the decimals that its step needs; very large and small values have a power of ten.

    >>> spelled(20000.0, 5000.0, 60000.0), spelled(0.25, 0.05, 0.5), spelled(3e20, 1e20, 9e20)
    ('20,000', '0.25', '3e20')
    """
    if abs(value) < step / 2:
        return "0"
    power = math.floor(math.log10(step) + 1e-12)
    size = math.floor(math.log10(abs(largest)) + 1e-12) if largest else 0
    digits = math.floor(math.log10(abs(value)) + 1e-12) - power
    if (size >= 10 or size < -3) and digits <= 6:
        mantissa, exponent = f"{value:.{max(0, digits)}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:,.{min(17, max(0, -power))}f}" if abs(value) < 1e16 else f"{value:.17g}".replace("e+", "e")


def text_width(text: str) -> float:
    """The approximate width of a text of 12 pixels."""
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 12.5
    if character in " .,:;'|ijl-()[]":
        return 4.0
    return 8.6 if character.isupper() or character in "mw%@…" else 6.7


def shortened(text: str, length: int = 26) -> str:
    """A name on one line, cut to a number of characters."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"
