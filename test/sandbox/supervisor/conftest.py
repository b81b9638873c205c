"""What tests of the supervisor's parts share."""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING, Any

import pytest

from root.connection import Channel, Connection
from root.loop import Loop
from shared.lean_json import loads
from shared.protocol import FRAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = {number: name for name, number in FRAMES.items()}


@pytest.fixture
def loop() -> Loop:
    return Loop()


class Client:
    """The other end of a connection. `requests` are those that came through; `handle` is what is done with each."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.requests: list[tuple[Channel, str, dict[str, Any]]] = []
        self.closed = False
        self.socket, theirs = socket.socketpair()
        self.socket.setblocking(False)
        self._incoming = b''
        fd = theirs.detach()
        self.connection = Connection(fd, os.dup(fd), loop, self.handle, self._on_close)

    def handle(self, channel: Channel, operation: str, fields: dict[str, Any]) -> None:
        self.requests.append((channel, operation, fields))

    def send(self, frame: str, number: int, payload: bytes) -> None:
        self.send_bytes(struct.pack('>IBI', len(payload) + 5, FRAMES[frame], number) + payload)

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)
        self.step()

    def step(self) -> None:
        """Lets the loop handle all that is ready now."""
        self.loop.step(self.loop.active, True)

    def frames(self) -> list[tuple[str, int, Any]]:
        """All that came since it was asked last: name, channel, and the value or the bytes."""
        try:
            while data := self.socket.recv(1 << 20):
                self._incoming += data
        except BlockingIOError:
            pass
        found = []
        while len(self._incoming) >= 9:
            length, frame, number = struct.unpack_from('>IBI', self._incoming)
            if len(self._incoming) < length + 4:
                break
            payload, self._incoming = self._incoming[9 : length + 4], self._incoming[length + 4 :]
            name = NAMES[frame]
            found.append((name, number, payload if name in ('data', 'errorData', 'credit') else loads(payload)))
        return found

    def _on_close(self, connection: Connection) -> None:
        self.closed = True


@pytest.fixture
def client(loop: Loop) -> Iterator[Client]:
    client = Client(loop)
    yield client
    client.connection.close()
    client.socket.close()
