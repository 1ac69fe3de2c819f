"""Fills pages when MkDocs builds the site: a line `::: NAME` becomes the signature and the docstring of a name.

A line `::: FILE.md` becomes a file of the repository's root, such as the changelog. The pages in the repository hold
only the names, so that they never lag behind.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

LINE = re.compile(r"^::: (\S+)$", re.MULTILINE)
LINE_WIDTH = 100


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs' hook: the page with every `::: NAME` replaced."""
    return LINE.sub(lambda match: root_file(match[1]) if match[1].endswith(".md") else section(match[1]), markdown)


def root_file(name: str) -> str:
    """A Markdown file of the root without its title, with links that lead from docs/project."""
    text = (Path(__file__).parents[1] / name).read_text(encoding="utf-8").partition("\n")[2]
    text = re.sub(r"\]\(([A-Z]+\.md)", lambda match: f"]({match[1].lower()}", text)
    return text.replace("](docs/", "](../")


def section(name: str) -> str:
    """A heading, the signature and the docstring of a public name such as shoal.read or shoal.Release.save."""
    thing = found_by(name)
    parts = [f"### `{name.removeprefix('shoal.')}`"]
    if callable(thing) and not inspect.isclass(thing):
        parts.append(f"```python\n{signature(name, thing)}\n```")
    return "\n\n".join([*parts, described(inspect.getdoc(thing) or "")])


def found_by(name: str) -> Any:
    """The object of a dotted name: the longest part that is a module, then its attributes."""
    words = name.split(".")
    for length in range(len(words), 0, -1):
        try:
            thing = importlib.import_module(".".join(words[:length]))
        except ModuleNotFoundError:
            continue
        for word in words[length:]:
            thing = getattr(thing, word)
        return thing
    raise LookupError(name)


def signature(name: str, function: Any) -> str:
    """The call, on one line if it fits, else one parameter per line."""
    whole = inspect.signature(function)
    shown = []
    for parameter in whole.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in shown):
            shown.append("*")
        shown.append(shown_parameter(parameter))
    returns = "" if whole.return_annotation is whole.empty else f" -> {str(whole.return_annotation).strip(chr(39))}"
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) <= LINE_WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + f"){returns}"


def shown_parameter(parameter: inspect.Parameter) -> str:
    """A parameter with its type and default; a function as default is left open."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    typed = "" if parameter.annotation is parameter.empty else f": {str(parameter.annotation).strip(chr(39))}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{typed}"
    default = "…" if callable(parameter.default) else repr(parameter.default)
    return f"{parameter.name}{typed} = {default}"


def described(doc: str) -> str:
    """The docstring as Markdown: examples as code, the lines below `Args:` and its like as lists."""
    blocks = []
    for block in re.split(r"\n\s*\n", doc):
        if block.lstrip().startswith(">>>"):
            blocks.append(f"```pycon\n{inspect.cleandoc(block)}\n```")
        elif match := re.match(r"(Args|Returns|Raises|Attributes):\n", block):
            entries = re.split(r"\n(?=    \S)", block[match.end() - 1 :])
            blocks.append(f"*{match[1]}*\n\n" + "\n".join(bullet(entry) for entry in entries if entry.strip()))
        else:
            blocks.append(block)
    return "\n\n".join(blocks)


def bullet(entry: str) -> str:
    """One parameter of a docstring as an item of a list."""
    name, colon, text = " ".join(entry.split()).partition(": ")
    return f"- `{name}`: {text}" if colon else f"- {name}"
