"""The data of a web form for a protection: one field per parameter, as plain values that JSON can hold."""

from __future__ import annotations

from typing import Any

from shoal.protections.protection import Parameter, Protection
from shoal.spelling import Names, Number, Whole


def form(protection: Protection) -> list[dict[str, Any]]:
    """Return the fields of a form, in the order of the parameters.

    kind: checkbox, select, number, columns, or text in the spelling of the option. show_for: the methods that use the
    parameter, or an empty list for all methods. show_with: the parameter without which it has no effect.
    """
    return [_field(p) for p in protection.parameters.values() if p.option.on_command_line]


def _field(parameter: Parameter) -> dict[str, Any]:
    option = parameter.option
    return {
        "name": parameter.name,
        "label": option.help,
        "kind": _kind(parameter),
        "required": parameter.is_required,
        "min": option.minimum,
        "max": option.maximum,
        "step": 1 if isinstance(parameter.spelling, Whole) else None,
        "unit": option.unit,
        "default": _default(parameter),
        "default_text": option.default_text,
        "choices": list(parameter.choices),
        "hint": "" if parameter.spelling is None else parameter.spelling.hint,
        "show_for": list(option.of),
        "show_with": option.needs,
    }


def _kind(parameter: Parameter) -> str:
    if parameter.is_flag:
        return "checkbox"
    if parameter.choices:
        return "select"
    kinds: dict[type, str] = {Whole: "number", Number: "number", Names: "columns"}
    return kinds.get(type(parameter.spelling), "text")


def _default(parameter: Parameter) -> Any:
    """Return the default as the field shows it: a flag, a number or a name, or the text of its spelling."""
    value = parameter.default
    if parameter.is_required or value is None or isinstance(value, bool | int | float | str):
        return None if parameter.is_required else value
    texts = None if parameter.spelling is None else parameter.spelling.write(value)
    return " ".join(texts or [])
