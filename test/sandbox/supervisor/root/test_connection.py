from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest

from shared.protocol import FRAMES, LIMITS, Refused

if TYPE_CHECKING:
    from test.sandbox.supervisor.conftest import Client

    from root.connection import Channel

PING = json.dumps({'operation': 'ping'}).encode()
WINDOW = LIMITS['windowBytes']
REQUEST, DATA, CREDIT = FRAMES['request'], FRAMES['data'], FRAMES['credit']


class Taker:
    """A handler that takes data."""

    def __init__(self, channel: Channel) -> None:
        self.data: list[bytes] = []
        self.credits = 0
        self.closed = 0
        channel.handler = self

    def on_data(self, data: bytes) -> None:
        self.data.append(data)

    def on_credit(self) -> None:
        self.credits += 1

    def on_close(self) -> None:
        self.closed += 1


def test_a_request_arrives_whole_wherever_its_bytes_are_cut(client: Client) -> None:
    frame = struct.pack('>IBI', len(PING) + 5, REQUEST, 7) + PING
    for at in range(1, len(frame)):
        before = len(client.requests)
        client.send_bytes(frame[:at])
        assert len(client.requests) == before
        client.send_bytes(frame[at:])
        channel, operation, fields = client.requests[-1]
        assert (len(client.requests), operation, fields, channel.number) == (before + 1, 'ping', {}, 7)
        channel.end({})
        client.step()
    assert not client.closed


def test_several_frames_in_one_piece_are_handled_in_order(client: Client) -> None:
    frames = b''.join(struct.pack('>IBI', len(PING) + 5, REQUEST, number) + PING for number in (3, 1, 2))
    client.send_bytes(frames)
    assert [channel.number for channel, _, _ in client.requests] == [3, 1, 2]


def test_data_goes_on_as_it_comes_and_costs_the_window(client: Client) -> None:
    client.send('request', 1, PING)
    channel = client.requests[0][0]
    taker = Taker(channel)
    client.send_bytes(struct.pack('>IBI', 5 + 6, DATA, 1) + b'abc')
    client.send_bytes(b'def')
    assert taker.data == [b'abc', b'def']
    assert channel.received == WINDOW - 6


def test_credit_is_granted_when_it_is_worth_a_frame(client: Client) -> None:
    client.send('request', 1, PING)
    channel = client.requests[0][0]
    channel.grant(WINDOW // 4 - 1)
    client.step()
    assert client.frames() == []
    channel.grant(1)
    client.step()
    assert client.frames() == [('credit', 1, struct.pack('>I', WINDOW // 4))]


def test_credit_never_exceeds_the_window(client: Client) -> None:
    client.send('request', 1, PING)
    channel = client.requests[0][0]
    taker = Taker(channel)
    channel.data(b'x' * 100)
    assert channel.credit == WINDOW - 100
    client.send('credit', 1, struct.pack('>I', 2**32 - 1))
    assert channel.credit == WINDOW
    assert taker.credits >= 1


@pytest.mark.parametrize(
    'data',
    [
        pytest.param(struct.pack('>IBI', 4, REQUEST, 1), id='a frame without a channel'),
        pytest.param(struct.pack('>IBI', LIMITS['frameBytes'] + 1, REQUEST, 1), id='a frame that is too long'),
        pytest.param(struct.pack('>IBI', 5, 99, 1), id='an unknown frame'),
        pytest.param(struct.pack('>IBI', 6, DATA, 1) + b'x', id='data for an operation that takes none'),
        pytest.param(struct.pack('>IBI', 6, CREDIT, 1) + b'x', id='a credit of one byte'),
        pytest.param(struct.pack('>IBI', len(PING) + 5, REQUEST, 1) + PING, id='a request on a channel that is open'),
    ],
)
def test_a_client_that_breaks_the_framing_is_dropped(client: Client, data: bytes) -> None:
    client.send('request', 1, PING)
    assert len(client.requests) == 1
    client.send_bytes(data)
    assert client.closed


def test_more_data_than_the_window_allows_ends_the_connection(client: Client) -> None:
    client.send('request', 1, PING)
    channel = client.requests[0][0]
    taker = Taker(channel)
    channel.received = 2
    client.send('data', 1, b'abc')
    assert client.closed
    assert taker.data == []
    assert taker.closed == 1


def test_frames_for_an_operation_that_has_ended_are_ignored(client: Client) -> None:
    client.send('request', 1, PING)
    client.requests[0][0].end({})
    for frame, payload in (('data', b'late'), ('credit', struct.pack('>I', 1)), ('cancel', b'')):
        client.send(frame, 1, payload)
    assert not client.closed
    assert client.frames() == [('end', 1, {})]


def test_a_cancelled_operation_is_told_once(client: Client) -> None:
    client.send('request', 1, PING)
    taker = Taker(client.requests[0][0])
    client.send('cancel', 1, b'')
    client.connection.close()
    assert taker.closed == 1


def test_what_is_refused_and_what_fails_is_told_to_its_client(client: Client) -> None:
    def refuse(channel: object, operation: object, fields: object) -> None:
        raise Refused('EXEC_NOT_FOUND', 'call_1')

    def fail(channel: object, operation: object, fields: object) -> None:
        raise ZeroDivisionError('division by zero')

    client.connection._handle = refuse
    client.send('request', 1, PING)
    client.connection._handle = fail
    client.send('request', 2, PING)
    client.send('request', 3, b'[]')
    client.step()
    assert client.frames() == [
        ('error', 1, {'code': 'EXEC_NOT_FOUND', 'problem': 'call_1'}),
        ('error', 2, {'code': 'INTERNAL', 'problem': "ZeroDivisionError('division by zero')"}),
        ('error', 3, {'code': 'INVALID_ARGUMENT', 'problem': 'the request is not an object'}),
    ]
    assert client.connection.channels == {}
    assert not client.closed


def test_operations_beyond_the_limit_are_refused(client: Client) -> None:
    for number in range(LIMITS['channels'] + 1):
        client.send('request', number, PING)
    assert len(client.requests) == LIMITS['channels']
    client.step()
    assert client.frames() == [('error', LIMITS['channels'], {'code': 'INVALID_ARGUMENT', 'problem': f'more than {LIMITS["channels"]} operations at once'})]


def test_a_client_that_reads_nothing_is_not_read_from_and_hears_of_credit_later(client: Client) -> None:
    client.send('request', 1, PING)
    channel = client.requests[0][0]
    taker = Taker(channel)
    for _ in range(40):
        channel.data(b'x' * 65536)
        client.step()
    assert channel.writable == 0
    client.send('request', 2, PING)
    assert len(client.requests) == 1
    before = taker.credits
    while taker.credits == before:
        client.frames()
        client.step()
    assert len(client.requests) == 2


def test_the_end_of_the_stream_closes_every_operation(client: Client) -> None:
    client.send('request', 1, PING)
    taker = Taker(client.requests[0][0])
    client.socket.close()
    client.step()
    assert client.closed
    assert taker.closed == 1
