"""Values that a plugin returns, as JSON has them."""

from __future__ import annotations

import json
from typing import Any, Callable

_EXACT = 2**53 - 1
_SURELY_EXACT = 15

# Gets the name of a value that JSON, or the worker, does not have, and what to return instead. Returns what stands for it, or raises.
Instead = Callable[[str, str], Any]


def plain(value: Any, default: Callable[[Any], Any], instead: Instead) -> Any:
    """`default` gives what stands for an object. Numbers that the worker would change are for `instead`."""
    text = json.dumps(value, ensure_ascii=False, default=lambda given: default(whole(given)))
    return json.loads(text, parse_int=lambda digits: _integer(digits, instead), parse_constant=lambda name: instead(name, 'JSON has no such number'))


def whole(value: Any) -> Any:
    """The value, unless its parts come one by one, as those of a generator: as a text, it would only say what it is."""
    kind = type(value)
    if any(hasattr(kind, method) for method in ('__next__', '__anext__', '__await__')):
        raise TypeError(f'it returned a {kind.__name__}, whose values are not read; return a list of them')
    return value


def _integer(digits: str, instead: Instead) -> Any:
    if len(digits) <= _SURELY_EXACT or abs(int(digits)) <= _EXACT:
        return int(digits)
    return instead(digits, f'it is beyond {_EXACT}, up to which whole numbers are kept exactly')
