from __future__ import annotations

import json
from typing import Any

import pytest

from shared import lean_json

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    0.1,
    1e300,
    '',
    'text "quoted" \\ \n \0 \x7f',
    'ü € 😀 \ud800',
    [],
    {},
    [1, [2, [3, {'a': [None, False]}]]],
    {'b': 1, 'a': {'ü': 'ü'}},
]
BAD = [b'', b'{', b'{"a": 1} x', b'[1,]', b'nul', b'"a', b"{'a': 1}", b'\xff', b'NaN', b'-Infinity', b'[Infinity]']
BOTH = pytest.mark.parametrize('functions', [lean_json._lean(), lean_json._full()], ids=['core', 'module'])


@BOTH
@pytest.mark.parametrize('value', VALUES, ids=repr)
def test_values_are_written_and_read_as_the_standard_library_does(functions: Any, value: Any) -> None:
    loads, dumps, encode, encode_characters = functions
    assert dumps(value) == json.dumps(value)
    assert encode(value) == json.dumps(value, separators=(',', ':'))
    assert encode_characters(value) == json.dumps(value, separators=(',', ':'), ensure_ascii=False)
    assert loads(dumps(value)) == value
    assert loads(f' {dumps(value)} '.encode()) == value


@BOTH
@pytest.mark.parametrize('data', BAD)
def test_what_is_no_json_is_refused(functions: Any, data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        functions[0](data)


@BOTH
def test_what_is_nested_too_deeply_is_refused(functions: Any) -> None:
    with pytest.raises(RecursionError):
        functions[0](b'[' * 1_000_000)


@BOTH
@pytest.mark.parametrize('value', [float('nan'), float('inf'), [float('-inf')]])
def test_numbers_that_json_does_not_have_are_refused_where_others_read_it(functions: Any, value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        functions[3](value)


@BOTH
@pytest.mark.parametrize('value', [object(), b'bytes', {1, 2}])
def test_what_json_cannot_hold_is_refused(functions: Any, value: Any) -> None:
    with pytest.raises(TypeError):
        functions[2](value)
