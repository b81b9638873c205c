"""JSON exactly as the standard library has it, without loading it: its module brings along regular expressions and enumerations, which take as
long as all the rest of the supervisor's start. What the bare scanner does not take, and whatever is wrong, goes to the real module."""

import _json


class _Scanning:
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo = {}

    @staticmethod
    def parse_constant(name):
        raise ValueError(name)


_scan = _json.make_scanner(_Scanning)


def _refuse(value):
    raise TypeError(f'{type(value).__name__} is no JSON')


def _encoder(colon, comma, quote=_json.encode_basestring_ascii, allow_nan=True):
    make_parts = _json.make_encoder(None, _refuse, quote, None, colon, comma, False, False, allow_nan)
    return lambda value: ''.join(make_parts(value, 0))


dumps = _encoder(': ', ', ')
encode = _encoder(':', ',')
"""As `dumps`, without blanks."""
encode_characters = _encoder(':', ',', _json.encode_basestring, False)
"""As `encode`, with characters beyond ASCII as they are; raises `ValueError` for numbers that JSON does not have."""


def loads(data):
    """Raises `ValueError` or `RecursionError`; also for numbers that JSON does not have."""
    try:
        text = data if isinstance(data, str) else data.decode('utf-8')
        value, end = _scan(text, 0)
        if end == len(text):
            return value
    except Exception:  # the scanner reports some errors by way of a module that is not there
        pass
    import json

    return json.loads(data, parse_constant=_Scanning.parse_constant)
