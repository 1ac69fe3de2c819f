"""The fields of a web form hold what the declaration says, as JSON."""

from __future__ import annotations

import json

import pytest

from shoal.protections import register
from shoal.protections.form import form
from shoal.protections.microaggregation import MICROAGGREGATE


@pytest.mark.parametrize("protection", register().values(), ids=lambda p: p.name)
def test_every_option_is_a_field_that_json_holds(protection) -> None:
    fields = form(protection)
    assert json.loads(json.dumps(fields)) == fields
    shown = [p.name for p in protection.parameters.values() if p.option.on_command_line]
    assert [field["name"] for field in fields] == shown
    for field in fields:
        assert field["kind"] in ("checkbox", "select", "number", "columns", "text")
        assert field["kind"] != "select" or field["default"] in (*field["choices"], None)
        assert set(field["show_for"]) <= set(protection.method_names)
        assert field["show_with"] is None or field["show_with"] in protection.parameters


def test_fields_of_microaggregation() -> None:
    fields = {field["name"]: field for field in form(MICROAGGREGATE)}
    assert fields["k"]["kind"] == "number" and fields["k"]["min"] == 2 and fields["k"]["required"]
    assert fields["method"]["kind"] == "select" and fields["method"]["choices"] == list(MICROAGGREGATE.method_names)
    assert fields["gamma"]["show_for"] == ["vmdav"] and fields["gamma"]["default"] == "auto"
    assert fields["bound_seconds"]["show_with"] == "bound" and fields["bound_seconds"]["unit"] == "s"
    assert fields["within"]["kind"] == "columns" and fields["split"]["default"] is True
    assert fields["mutation_rate"]["max"] == 1 and fields["importance"]["kind"] == "text"
    assert "start" not in fields and "data" not in fields
