"""SVG as text: elements, numbers and escaped words.

Shoal draws charts without a charting library, for three reasons. Such a library has tens of megabytes, and its code
makes each page several megabytes larger. A drawing inside the file does not need a script, so it can be printed, and a
screen reader can read it. Names and values of the data cannot be trusted; here, `words` escapes each of them, and only
finished markup becomes part of an element.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from markupsafe import Markup

# Characters that XML does not allow, and characters that reverse the direction of the text around them.
_NOT_TEXT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def words(text: object) -> Markup:
    """Escape a text, so that it is safe in an element or attribute.

    >>> print(words("<b> & \\x00"))
    &lt;b&gt; &amp; �
    """
    return Markup(escape(_NOT_TEXT.sub("\ufffd", str(text))))


def number(value: float) -> str:
    """A coordinate with at most two decimals.

    >>> number(12.5), number(-0.001), number(33.333)
    ('12.5', '0', '33.33')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    """A share as a coordinate in percent of the drawing, which suits every width of the page."""
    return f"{number(100.0 * share)}%"


def tag(name: str, *children: Markup, **attributes: str | float) -> Markup:
    """An element; a trailing underscore of an attribute name is dropped, other underscores become hyphens.

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
    """Elements in sequence."""
    return Markup("".join(parts))
