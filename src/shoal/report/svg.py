"""SVG written as text: elements, numbers and escaped words.

The charts of the pages are drawn by hand, without a charting library, for three reasons. Weight: such a library has
tens of megabytes, and its code in every page makes each page several megabytes. Offline: the drawing is in the file
and needs no script, so it prints, and a screen reader finds it. Safety: names and values of the data stand in the
charts and cannot be trusted; every one passes `words`, and nothing but ready markup becomes part of an element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from markupsafe import Markup

# What XML does not allow, and what would turn the direction of the text around it.
_NOT_TEXT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def words(text: object) -> Markup:
    """A text that is safe in an element or attribute, whatever it holds.

    >>> print(words("<b> & \\x00"))
    &lt;b&gt; &amp; �
    """
    return Markup(escape(_NOT_TEXT.sub("\ufffd", str(text))))


def number(value: float) -> str:
    """A coordinate: two decimals at most.

    >>> number(12.5), number(-0.001), number(33.333)
    ('12.5', '0', '33.33')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    """A share as a coordinate in per cent of the drawing, which fits every width of the page."""
    return f"{number(100.0 * share)}%"


def tag(name: str, *children: Markup, **attributes: str | float) -> Markup:
    """An element; a trailing underscore of an attribute is dropped, others become hyphens.

    >>> print(tag("text", words("a < b"), class_="k", text_anchor="end", x=2.50))
    <text class="k" text-anchor="end" x="2.5">a &lt; b</text>
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{words(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
    )
    inside = "".join(children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def joined(parts: Iterable[Markup]) -> Markup:
    """Elements one after another."""
    return Markup("".join(parts))
