"""Finds the part of a call's arguments that cannot be passed on unchanged."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EXACT = 2**53 - 1


def problem_of(value: object, path: str = '') -> str | None:
    """The problem and path of the first part that JSON cannot carry; None when there is none."""
    try:
        return _problem(value, path)
    except RecursionError:
        return 'they are nested too deeply'


def _problem(value: object, path: str, above: tuple[object, ...] = ()) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        problem = _problem_of_text(value)
        return problem and f'{path}: {problem}'
    if isinstance(value, (dict, list, tuple)):
        if any(value is one for one in above):
            return f'{path}: it contains itself'
        return _first(value, path, (*above, value))
    if isinstance(value, int):
        return None if abs(value) <= _EXACT else f'{path}: {str(value)[:40]} is beyond {_EXACT}, up to which whole numbers are kept exactly; pass it as a text'
    if isinstance(value, float):
        return None if math.isfinite(value) else f'{path}: JSON has no {value}; pass None or a text'
    return f'{path}: {type(value).__name__} is no JSON; {_advice(value)}'


def _problem_of_text(text: str, what: str = '') -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f'half a character at {error.start}{what}, which is no text'
    # Postgres keeps no text with NUL.
    nul = text.find('\0')
    return None if nul < 0 else f'a NUL character at {nul}{what}, which no call can carry; leave it out, or pass the path of a file'


def _first(value: Any, path: str, above: tuple[object, ...]) -> str | None:
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        problem = _problem_of_text(name, ' of a name') if isinstance(name, str) else None
        if problem:
            return f'{path}: {problem}'
        problem = _problem(part, f'{path}/{name}', above)
        if problem:
            return problem
    return None


def _advice(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return 'pass base64.b64encode(it).decode(), or the path of a file'
    if hasattr(value, 'isoformat'):
        return 'pass it as a text, by .isoformat()'
    if hasattr(value, '__fspath__'):
        return 'pass str(it)'
    if hasattr(value, 'tolist'):
        return 'pass it by .tolist()'
    if isinstance(value, (set, frozenset, range)) or hasattr(value, '__next__'):
        return 'pass it as a list'
    return 'pass a dict, list, text, number, True, False or None'
