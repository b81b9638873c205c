"""JSON exactly as in the standard library, without its module, which also loads regular expressions and enumerations, which take as
long as all the rest of the supervisor's start. Where the core of that module is not as it is known, the module itself does everything."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Union

    _Encoder = Callable[[object], str]
    _Functions = tuple[Callable[[Union[str, bytes]], Any], _Encoder, _Encoder, _Encoder]


class _Scanning:
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012

    @staticmethod
    def parse_constant(name: str) -> None:
        raise ValueError(name)


def _refuse(value: object) -> None:
    raise TypeError(f'{type(value).__name__} is no JSON')


def _lean() -> _Functions:
    import _json

    scan = _json.make_scanner(_Scanning)  # type: ignore[arg-type]

    def loads(data: str | bytes) -> Any:
        try:
            text = data if isinstance(data, str) else data.decode('utf-8')
            value, end = scan(text, 0)
            if end == len(text):
                return value
        except Exception:  # the core reports some errors by a module that was not loaded
            pass
        return _loads_fully(data)

    def encoder(colon: str, comma: str, quote: Callable[[str], str] = _json.encode_basestring_ascii, allow_nan: bool = True) -> _Encoder:
        make_parts = _json.make_encoder(None, _refuse, quote, None, colon, comma, False, False, allow_nan)
        return lambda value: ''.join(make_parts(value, 0))

    return loads, encoder(': ', ', '), encoder(':', ','), encoder(':', ',', _json.encode_basestring, False)


def _full() -> _Functions:
    import json

    def encoder(**options: Any) -> _Encoder:
        return json.JSONEncoder(separators=(',', ':'), **options).encode

    return _loads_fully, json.dumps, encoder(), encoder(ensure_ascii=False, allow_nan=False)


def _loads_fully(data: str | bytes) -> Any:
    import json

    return json.loads(data, parse_constant=_Scanning.parse_constant)


try:
    _functions = _lean()
except Exception:  # any error of another version of Python
    _functions = _full()

# `loads` raises `ValueError` or `RecursionError`, also for numbers that JSON does not have. `encode` is as `dumps`, without blanks; `encode_characters`
# leaves characters beyond ASCII as they are, and raises `ValueError` for numbers that JSON does not have.
loads, dumps, encode, encode_characters = _functions
