from __future__ import annotations

import datetime
import pathlib
from typing import Any

import pytest

from longshore_arguments import problem_of

SELF: list[Any] = []
SELF.append(SELF)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize('value', [None, True, 0, 2**53 - 1, 1.5, 'ü', [1, {'a': (2, 3)}], {}, [[], []]])
def test_what_json_carries_is_no_problem(value: object) -> None:
    assert problem_of(value) is None


@pytest.mark.parametrize(
    ('value', 'problem'),
    [
        ({'a': [0, float('nan')]}, '/a/1: JSON has no nan; pass None or a text'),
        ([2**53], f'/0: {2**53} is beyond {2**53 - 1}, up to which whole numbers are kept exactly; pass it as a text'),
        ({'a': 'x\ud800'}, '/a: half a character at 1, which is no text'),
        ({'a': 'x\0'}, '/a: a NUL character at 1, which no call can carry; leave it out, or pass the path of a file'),
        ({'a': {'x\0': 1}}, '/a: a NUL character at 1 of a name, which no call can carry; leave it out, or pass the path of a file'),
        ({'a': {'\ud800': 1}}, '/a: half a character at 0 of a name, which is no text'),
        (SELF, '/0: it contains itself'),
        (DEEP, 'they are nested too deeply'),
        ({'a': b'x'}, '/a: bytes is no JSON; pass base64.b64encode(it).decode(), or the path of a file'),
        ({'a': {1}}, '/a: set is no JSON; pass it as a list'),
        ({'a': datetime.date(2026, 1, 1)}, '/a: date is no JSON; pass it as a text, by .isoformat()'),
        ({'a': pathlib.PurePosixPath('x')}, '/a: PurePosixPath is no JSON; pass str(it)'),
        ({'a': object()}, '/a: object is no JSON; pass a dict, list, text, number, True, False or None'),
    ],
    ids=[
        'nan',
        'a large number',
        'half a character',
        'NUL',
        'NUL in a name',
        'half a character in a name',
        'a loop',
        'depth',
        'bytes',
        'a set',
        'a date',
        'a path',
        'an object',
    ],
)
def test_the_first_part_that_json_cannot_carry_is_named(value: object, problem: str) -> None:
    assert problem_of(value) == problem
