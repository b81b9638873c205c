from __future__ import annotations

import json
import socket
import struct
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from root.ports import Ports
from shared.protocol import Refused

if TYPE_CHECKING:
    from test.sandbox.supervisor.conftest import Client

    from root.connection import Channel
    from root.loop import Loop

FAMILIES = {'127.0.0.1': socket.AF_INET, '::1': socket.AF_INET6}
PING = json.dumps({'operation': 'ping'}).encode()


def listen(address: str, port: int = 0) -> tuple[socket.socket, int]:
    """A server that accepts connections to this address alone; without a port, on one that no process has on the other address either."""
    try:
        listener = socket.create_server((address, port), family=FAMILIES[address])
    except OSError as error:
        if address != '::1' or port != 0:
            raise
        pytest.skip(f'this machine has no {address}: {error}')
    listener.settimeout(10)
    found = int(listener.getsockname()[1])
    if port == 0 and address == '::1' and not is_free('127.0.0.1', found):
        listener.close()
        return listen(address)
    return listener, found


def is_free(address: str, port: int) -> bool:
    with socket.socket(FAMILIES[address]) as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def operation(client: Client, number: int) -> Channel:
    client.send('request', number, PING)
    return client.requests[-1][0]


def answers(client: Client) -> list[tuple[str, int, object]]:
    """The next frames to the worker."""
    limit = time.monotonic() + 30
    while not (found := client.frames()):
        assert time.monotonic() < limit, 'the worker is told nothing'
        client.step()
    return found


@pytest.mark.parametrize('address', FAMILIES)
def test_a_server_on_either_address_of_localhost_is_reached(client: Client, loop: Loop, address: str) -> None:
    listener, port = listen(address)
    with closing(listener):
        Ports(loop).connect(operation(client, 1), {'port': port}, 0)
        assert answers(client) == [('reply', 1, {'accepted': 0})]
        accepted, _ = listener.accept()
    with closing(accepted):
        client.send('data', 1, b'ahoy')
        accepted.settimeout(10)
        assert accepted.recv(100) == b'ahoy'
        accepted.sendall(b'aye')
        assert answers(client) == [('data', 1, b'aye')]


def test_of_two_servers_on_one_port_the_one_on_the_older_address_is_reached(client: Client, loop: Loop) -> None:
    newer, port = listen('::1')
    older, _ = listen('127.0.0.1', port)
    with closing(newer), closing(older):
        Ports(loop).connect(operation(client, 1), {'port': port}, 0)
        assert answers(client) == [('reply', 1, {'accepted': 0})]
        older.accept()[0].close()
        newer.setblocking(False)
        with pytest.raises(BlockingIOError):
            newer.accept()


def test_a_port_on_which_nothing_listens_is_closed_and_leaves_its_room_to_others(client: Client, loop: Loop) -> None:
    listener, port = listen('127.0.0.1')
    listener.close()
    ports = Ports(loop)
    closed = {'code': 'PORT_CLOSED', 'problem': 'nothing listens there'}
    for number in range(300):
        ports.connect(operation(client, number), {'port': port}, 0)
        assert answers(client) == [('error', number, closed)]


def test_the_port_of_the_supervisor_itself_is_refused(client: Client, loop: Loop) -> None:
    listener, port = listen('127.0.0.1')
    with closing(listener), pytest.raises(Refused, match='the sandbox uses this port itself'):
        Ports(loop).connect(operation(client, 1), {'port': port}, port)


def test_a_server_that_breaks_the_connection_at_once_is_told_and_leaves_its_room_to_others(client: Client, loop: Loop) -> None:
    listener, port = listen('127.0.0.1')
    with closing(listener):
        ports = Ports(loop)
        ports.connect(operation(client, 1), {'port': port}, 0)
        accepted, _ = listener.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        accepted.close()
    dial: Any = next(iter(ports._open))
    limit = time.monotonic() + 30
    # From now on it has neither an error nor a peer, as when it is broken just after it was looked at.
    while dial._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
        assert time.monotonic() < limit, 'the connection is not broken'
    [(kind, number, refused)] = answers(client)
    assert (kind, number) == ('error', 1)
    assert refused == {'code': 'PORT_CLOSED', 'problem': 'nothing listens there'}
    assert ports._open == set()
