from __future__ import annotations

import json
from typing import Any

import pytest

from shared.protocol import Refused, parse_request, to_bytes, to_text


def parse(**request: Any) -> tuple[str, dict[str, Any]]:
    return parse_request(json.dumps(request).encode())


def test_a_request_that_fits_is_its_operation_and_its_fields() -> None:
    assert parse(operation='info', execId='call_1') == ('info', {'execId': 'call_1'})
    assert parse(operation='ping') == ('ping', {})


@pytest.mark.parametrize(
    ('payload', 'problem'),
    [
        (b'', 'the request is not JSON'),
        (b'\xff', 'the request is not JSON'),
        (b'[' * 100_000, 'the request is not JSON'),
        (b'{"operation": "ping", "a": NaN}', 'the request is not JSON'),
        (b'[1]', 'the request is not an object'),
        (b'{}', 'the operation is unknown'),
        (b'{"operation": ["ping"]}', 'the operation is unknown'),
        (b'{"operation": "none"}', 'the operation is unknown'),
        (b'{"operation": "ping", "\\u0000": 1}', "ping has no field '\\x00'"),
        (b'{"operation": "info"}', 'info.execId is missing'),
    ],
)
def test_what_is_no_request_is_refused(payload: bytes, problem: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_request(payload)
    assert (refused.value.code, refused.value.problem) == ('INVALID_ARGUMENT', problem)


@pytest.mark.parametrize('exec_id', ['', 'a' * 129, '-a', '.', '..', 'a/b', 'a b', 'ä', 'a\0', 1, None, True, ['a']])
def test_ids_that_are_no_names_of_files_are_refused(exec_id: Any) -> None:
    with pytest.raises(Refused, match=r'info\.execId is not valid'):
        parse(operation='info', execId=exec_id)


@pytest.mark.parametrize('exec_id', ['a', '0', 'a' * 128, 'call_1.b:c-d'])
def test_ids_that_are_names(exec_id: str) -> None:
    assert parse(operation='info', execId=exec_id)[1] == {'execId': exec_id}


@pytest.mark.parametrize('path', ['a\0b', '\ud800', 1, None])
def test_paths_that_no_file_can_have_are_refused(path: Any) -> None:
    with pytest.raises(Refused, match=r'fileInfo\.path is not valid'):
        parse(operation='fileInfo', path=path)


def test_names_of_files_travel_whatever_their_bytes() -> None:
    for data in (b'plain', b'\xff\xfe', 'ü'.encode(), b'\xc3'):
        assert to_bytes(to_text(data)) == data
