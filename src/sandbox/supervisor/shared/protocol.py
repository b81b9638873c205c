"""The protocol's tables and the check of every request against them."""

from __future__ import annotations

import os

from shared.lean_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from shared.shapes import Fields

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../protocol.json'), 'rb') as file:
    _TABLES = loads(file.read().strip())

VERSION: int = _TABLES['version']
LIMITS: dict[str, int] = _TABLES['limits']
FRAMES: dict[str, int] = _TABLES['frames']
_ID = _TABLES['id']
_NO_MARKS = str.maketrans('', '', _ID['marks'])
_RECORDS = _TABLES['records']
# The largest whole number that each reader of JSON understands alike.
_LARGEST = 2**53 - 1


class Refused(Exception):
    """A request that is refused; `code` is one of the protocol's failure codes."""

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem


def _spread(fields: dict[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, field in fields.items():
        if name == '...':
            for record in field:
                table.update(_spread(_RECORDS[record]))
        else:
            table[name] = field
    return table


_REQUESTS = {name: _spread(operation['request']) for name, operation in _TABLES['operations'].items()}


def to_bytes(text: str) -> bytes:
    """File names need not be UTF-8: bytes that are not are sent as lone surrogates."""
    return text.encode('utf-8', 'surrogateescape')


def to_text(data: bytes) -> str:
    return data.decode('utf-8', 'surrogateescape')


def to_count(number: int) -> int:
    """The guest can make files of more bytes than a number of a message can say; such a number means as much or more."""
    return min(number, _LARGEST)


def parse_request(payload: bytes) -> tuple[str, Fields]:
    """Returns the operation's name and its checked fields; raises `Refused`."""
    try:
        request = loads(payload)
    except (ValueError, RecursionError) as error:
        raise Refused('INVALID_ARGUMENT', 'the request is not JSON') from error
    if not isinstance(request, dict):
        raise Refused('INVALID_ARGUMENT', 'the request is not an object')
    operation = request.pop('operation', None)
    table = _REQUESTS.get(operation) if isinstance(operation, str) else None
    if table is None:
        raise Refused('INVALID_ARGUMENT', 'the operation is unknown')
    for name in request:
        if name not in table:
            raise Refused('INVALID_ARGUMENT', f'{operation} has no field {ascii(name)[:100]}')
    for name, field in table.items():
        if name in request:
            if not _CHECKS[field['type']](request[name], field):
                raise Refused('INVALID_ARGUMENT', f'{operation}.{name} is not valid')
        elif not field.get('optional'):
            raise Refused('INVALID_ARGUMENT', f'{operation}.{name} is missing')
    return operation, request


def _is_id(value: object, field: Fields) -> bool:
    if not isinstance(value, str) or not 0 < len(value) <= _ID['maxLength']:
        return False
    return value.isascii() and value[0].isalnum() and value.translate(_NO_MARKS).isalnum()


def _is_text(value: object, field: Fields) -> bool:
    if not isinstance(value, str) or len(value) > field['maxLength'] or '\0' in value:
        return False
    try:
        value.encode('utf-8', 'surrogateescape')
    except UnicodeEncodeError:
        return False
    return True


def _is_integer(value: object, field: Fields) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and field.get('min', 0) <= value <= field.get('max', _LARGEST)


def _is_texts(value: object, field: Fields) -> bool:
    return isinstance(value, list) and 0 < len(value) <= field['maxItems'] and all(_is_text(item, field) for item in value)


def _is_text_map(value: object, field: Fields) -> bool:
    if not isinstance(value, dict) or len(value) > field['maxItems']:
        return False
    return all(name and '=' not in name and _is_text(name, field) and _is_text(item, field) for name, item in value.items())


_CHECKS: dict[str, Callable[[object, Fields], bool]] = {
    'id': _is_id,
    'text': _is_text,
    'texts': _is_texts,
    'textMap': _is_text_map,
    'integer': _is_integer,
    'boolean': lambda value, field: isinstance(value, bool),
    'choice': lambda value, field: isinstance(value, str) and value in field['values'],
}
