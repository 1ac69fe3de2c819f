"""The declaration of a protection: what a method takes, what is refused, and that the methods agree with it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ArgumentError, UsageError
from shoal.protections import declared, register
from shoal.protections.generalization.nsga2 import Nsga2Settings
from shoal.protections.grouping.gomm import GommSettings, times_per_generation
from shoal.protections.microaggregation import METHODS, MICROAGGREGATE
from shoal.protections.microaggregation.methods import RUN, function_of
from shoal.protections.microaggregation.methods.genetic import genetic
from shoal.protections.microaggregation.methods.hybrid import Evolution
from shoal.protections.regions.by_evolution import MemeticSettings

FRAME = pl.DataFrame({"age": np.arange(40) % 17 + 20, "income": np.arange(40) * 37 % 101, "w": [1.0, 2.0] * 20})


def test_the_register_finds_the_declarations_by_walking_the_folders() -> None:
    assert declared("microaggregate") is MICROAGGREGATE
    assert all(name == protection.name for name, protection in register().items())
    with pytest.raises(UsageError, match="Did you mean 'microaggregate'"):
        declared("microagregate")


@pytest.mark.parametrize("method", [method.name for method in METHODS])
def test_a_method_of_microaggregation_takes_what_is_declared_for_it(method: str) -> None:
    parameters = list(inspect.signature(function_of(method)).parameters.values())
    if method == "hybrid":  # it hands some options on to the genetic algorithm, whose defaults then hold
        names = typing.get_type_hints(Evolution)
        parameters += [p for name, p in inspect.signature(genetic).parameters.items() if name in names]
    defaults = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in RUN}
    of_the_loss = ("loss", "l", "t", "distance")  # they make the loss that a search is given
    options = {
        p.name: p.default
        for p in MICROAGGREGATE.parameters.values()
        if method in p.option.of and p.name not in of_the_loss
    }
    assert defaults == options
    takes_weights = "weights" in {p.name for p in parameters}
    assert takes_weights == MICROAGGREGATE.method(method).weights


@pytest.mark.parametrize(
    ("name", "settings"), [("generalize", Nsga2Settings), ("group", GommSettings), ("mask", MemeticSettings)]
)
def test_the_settings_of_a_search_have_the_declared_defaults(name: str, settings: Any) -> None:
    declared_defaults = {p.name: p.default for p in declared(name).parameters.values()}
    defaults = {field.name: field.default for field in dataclasses.fields(settings) if field.name in declared_defaults}
    assert len(defaults) > 2 and defaults == {field: declared_defaults[field] for field in defaults}


def test_an_operator_is_run_as_often_as_declared() -> None:
    parameters = declared("group").parameters
    assert times_per_generation() == times_per_generation(
        parameters["crossovers"].default, parameters["mutations"].default
    )


@pytest.mark.parametrize(
    ("arguments", "argument", "words"),
    [
        ({"method": "mdv"}, "method", "Unknown method 'mdv'. Did you mean 'mdav'?"),
        ({"method": "mdav", "gamma": 0.2}, "gamma", "The method mdav does not use gamma: it belongs to vmdav."),
        ({"method": "mdav", "gamma": 0.2}, "gamma", "The options of mdav are remainder, metric, engine."),
        ({"method": "md", "split": False}, "split", "md has no options of its own."),
        ({"effort": "quik"}, "effort", "effort must be quick, standard or thorough, not 'quik'. Did you mean 'quick'?"),
        (
            {"method": "genetic", "mutation_rate": 1.5},
            "mutation_rate",
            "mutation_rate must be between 0 and 1, not 1.5.",
        ),
        ({"method": "genetic", "inversion": float("nan")}, "inversion", "inversion must be between 0 and 1, not nan."),
        ({"k": 1}, "k", "k must be 2 or more, not 1."),
        ({"bound_seconds": 5.0}, "bound_seconds", "bound_seconds has no effect without bound. Add bound, or remove"),
        ({"resume": True}, "resume", "resume has no effect without checkpoint"),
        ({"efort": "quick"}, "efort", "Unknown argument 'efort'. Did you mean 'effort'?"),
    ],
)
def test_what_a_call_cannot_use_is_refused(arguments: dict[str, Any], argument: str, words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        shoal.microaggregate(FRAME, **({"k": 3} | arguments))
    assert words in str(caught.value) and caught.value.argument == argument


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "mdav", "split": True, "resume": False, "seconds": None},  # as if they were not given
        {"method": "mdav", "bound": True, "bound_seconds": 1.0},
        {"method": "path", "order": "nearest"},  # the earlier name of path_order
        {"method": "vmdav", "gamma": "0.2"},  # recipes of earlier versions hold the text
    ],
)
def test_what_a_call_may_have(arguments: Mapping[str, Any]) -> None:
    release = shoal.microaggregate(shoal.read(FRAME, as_is=["w"]), 3, **arguments)
    assert release.facts["smallest_group"] >= 3


def test_an_earlier_name_is_recorded_under_the_present_one() -> None:
    release = shoal.microaggregate(shoal.read(FRAME, as_is=["w"]), 3, method="path", order="nearest")
    assert release.recipe is not None
    assert release.recipe.steps[0].arguments == {"k": 3, "method": "path", "path_order": "nearest"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"aggregate": "median"}, "The median of a group does not support the weights in 'w'"),
        ({"bound": True}, "A bound does not support weights"),
        ({"method": "genetic"}, "Method 'genetic' does not support weights. Use one of: auto, mdav"),
    ],
)
def test_weights_that_cannot_be_honoured_are_refused_before_the_search(
    arguments: Mapping[str, Any], words: str
) -> None:
    steps: list[str] = []

    def progress(done: float, total: float, best: float | None = None, what: str = "") -> None:
        steps.append(what)

    with pytest.raises(UsageError) as caught:
        shoal.microaggregate(shoal.read(FRAME, weight="w"), 3, progress=progress, **arguments)
    assert words in str(caught.value) and not steps


def test_the_signature_and_the_help_of_the_function_are_readable() -> None:
    signature = inspect.signature(shoal.microaggregate)
    assert "Option(" not in str(signature) and signature.parameters["k"].annotation is int
    assert "\n    gamma: Tendency of a group to grow beyond k" in (shoal.microaggregate.__doc__ or "")


def test_the_docstring_of_every_protection_has_all_sections_and_parameters() -> None:
    for protection in register().values():
        arguments, sections = inspect.getdoc(protection.function).split("\n\nArgs:\n")[1].split("\n\nReturns:\n")
        assert "\n\nRaises:\n" in sections
        listed = re.findall(r"^    (\w+): [A-Z\d]", arguments, re.MULTILINE)
        assert listed == list(inspect.signature(protection.function).parameters), protection.name


def test_every_sentence_is_complete() -> None:
    for protection in register().values():
        for text in (protection.summary, protection.promise, *(p.option.help for p in protection.parameters.values())):
            assert text[0].isupper() and text.endswith("."), text
