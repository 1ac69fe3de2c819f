"""Names that look ordered: known scales, and names with numbers in them. The guess is shown, never used unasked."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_NAMES = 30  # of a scale with numbers: longer lists are codes or places
# Answers that stand outside a scale.
OUTSIDE = frozenset(
    ["refused", "unknown", "other", "missing", "don't_know", "no_answer", "not_stated", "not_applicable", "n/a"]
)
RANGE_WORDS = re.compile(r"\b(?:to|and|or|over|under|below|above|more|less|than|from|up|at|least|most)\b|[\d\W_]+")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# Each scale from its lowest to its highest step; words for the same step are separated by |.
SCALES = tuple(
    tuple(scale.split())
    for scale in (
        "none|no_education|never_attended|illiterate preschool|kindergarten primary|elementary|basic "
        "lower_secondary|middle_school|some_high_school secondary|high_school|upper_secondary "
        "vocational|apprenticeship "
        "some_college|associate bachelor|bachelors|bachelor's|college|tertiary|graduate "
        "master|masters|master's|postgraduate doctorate|doctoral|phd|doctor",
        "never rarely|seldom|hardly_ever sometimes|occasionally often|frequently usually|mostly|very_often always",
        "strongly_disagree|disagree_strongly disagree|rather_disagree neutral|undecided|neither agree|rather_agree "
        "strongly_agree|agree_strongly",
        "very_low|lowest low medium|middle|moderate|average high very_high|highest",
        "very_poor|very_bad poor|bad fair|average|moderate good very_good excellent",
        "xxs xs|extra_small s|small m|medium l|large xl|extra_large|x-large xxl xxxl",
        "very_dissatisfied dissatisfied neutral satisfied very_satisfied",
        "infant|baby toddler child|children adolescent|teenager|teen young|young_adult|youth adult "
        "middle-aged|middle_aged old|senior|elderly",
        "mild moderate severe critical|fatal",
        "monday|mon tuesday|tue wednesday|wed thursday|thu friday|fri saturday|sat sunday|sun",
        "january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sep|sept october|oct "
        "november|nov december|dec",
        "first second third fourth fifth sixth",
        "junior intermediate|mid|middle senior lead|principal",
    )
)


def likely_order(names: Sequence[str]) -> list[str] | None:
    """The order that names seem to have, the lowest first; None if they do not look ordered.

    >>> likely_order(["master", "primary", "bachelor"])
    ['primary', 'bachelor', 'master']
    >>> likely_order(["10-49 employees", "1-9 employees", "50+"])
    ['1-9 employees', '10-49 employees', '50+']
    >>> likely_order(["Paris", "Rome", "Oslo"]) is None
    True
    """
    outside = [name for name in names if _word(name) in OUTSIDE]
    names = [name for name in names if name not in outside]
    if len(names) < 3:
        return None
    words = [_word(name) for name in names]
    for scale in SCALES:
        step_of = {word: step for step, words_of_step in enumerate(scale) for word in words_of_step.split("|")}
        steps = [step_of.get(word) for word in words]
        if all(step is not None for step in steps) and len(set(steps)) == len(steps):
            return [name for _, name in sorted(zip(steps, names, strict=True))] + outside  # type: ignore[type-var]
    by_number = _by_number(names)
    return None if by_number is None else by_number + outside


def _word(name: str) -> str:
    return re.sub(r"[\s_]+", "_", name.strip().lower())


def _by_number(names: Sequence[str]) -> list[str] | None:
    """The names by the first number in each, where every name has a number of its own and says more than a code."""
    matches = [NUMBER.search(name) for name in names]
    if len(names) > MOST_NAMES or not all(matches):
        return None
    numbers = [float(match.group().replace(",", "")) for match in matches if match is not None]
    is_code = all(name.isalnum() for name in names) or any(
        match is not None and match.group()[:1] == "0" and len(match.group()) > 1 for match in matches
    )
    stems = {RANGE_WORDS.sub("", name.lower()) for name in names} - {""}  # what names say besides their numbers
    if is_code or len(stems) > 1 or len(set(numbers)) < len(numbers):
        return None
    return [name for _, name in sorted(zip(numbers, names, strict=True))]
