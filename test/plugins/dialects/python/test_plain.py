"""Rules of what a plugin returns: no number becomes another one on its way."""

from __future__ import annotations

from typing import Any

import pytest

from longshore_host.plain import plain


def in_words(value: Any) -> Any:
    return plain(value, str, lambda number, why: f'{number}: {why}')


@pytest.mark.parametrize('value', [0, -1, 2**53 - 1, 1 - 2**53, 1.5, 1e300, True, None, 'text', [1, {'a': [2]}]])
def test_what_json_has_stays(value: Any) -> None:
    assert in_words(value) == value


@pytest.mark.parametrize('value', [2**53, -(2**53), 1234567890123456789, 10**40])
def test_a_whole_number_that_the_worker_would_round_is_replaced(value: int) -> None:
    assert in_words({'id': [value]}) == {'id': [f'{value}: it is beyond 9007199254740991, up to which whole numbers are kept exactly']}


@pytest.mark.parametrize(('value', 'name'), [(float('nan'), 'NaN'), (float('inf'), 'Infinity'), (float('-inf'), '-Infinity')])
def test_a_number_that_json_does_not_have_is_replaced(value: float, name: str) -> None:
    assert in_words({'a': value}) == {'a': f'{name}: JSON has no such number'}


def test_an_object_is_what_the_caller_makes_of_it() -> None:
    assert plain({'a': {1}}, list, lambda number, _: number) == {'a': [1]}
