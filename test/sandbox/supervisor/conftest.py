"""What tests of the supervisor's parts share."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from root.connection import Channel, Connection
from root.loop import Loop
from shared.lean_json import loads
from shared.protocol import FRAMES

if TYPE_CHECKING:
    from collections.abc import Iterator

# The whole program as it is, and without the private modules of CPython that it prefers.
PROGRAMS = {
    'as it is': Path(__file__).parents[3] / 'src/sandbox/supervisor/supervisor.py',
    'without private modules': Path(__file__).parent / 'shared/without_cores.py',
}
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


class Worker:
    """The worker's end of the connection."""

    def __init__(self, path: Path, limit: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(limit)
        self._socket.connect(str(path))
        self._stream = self._socket.makefile('rb')
        self._channel = 1000

    def ask(self, channel: int, operation: str, **fields: Any) -> None:
        self.send('request', channel, json.dumps({'operation': operation, **fields}).encode())

    def send(self, frame: str, channel: int, payload: bytes) -> None:
        self._socket.sendall(struct.pack('>IBI', len(payload) + 5, FRAMES[frame], channel) + payload)

    def receive(self) -> tuple[str, int, bytes]:
        length, frame, number = struct.unpack('>IBI', self._stream.read(9))
        return NAMES[frame], number, self._stream.read(length - 5)

    def outcome(self, number: int) -> tuple[dict[str, Any], bytes]:
        """The end of an operation and the data that came before it."""
        data = b''
        while True:
            name, channel, payload = self.receive()
            if channel == number and name == 'data':
                data += payload
            elif channel == number and name in ('end', 'error'):
                return json.loads(payload), data

    def start(self, exec_id: str, **fields: Any) -> None:
        given = {'execId': exec_id, 'cwd': '', 'env': {}, 'timeoutMs': 30_000, 'maxOutputBytes': 100_000, 'stdin': 'empty'}
        assert self.done('start', **{**given, **fields})['state'] in ('running', 'ended')

    def give(self, exec_id: str, data: bytes) -> None:
        """Writes to the stdin of a command, and closes it."""
        assert self.done('input', data, execId=exec_id, inputId=exec_id, size=len(data), end=True) == {}

    def follow(self, exec_id: str) -> tuple[dict[str, Any], bytes]:
        """How a command ended, and its stdout."""
        self._channel += 1
        self.ask(self._channel, 'attach', execId=exec_id, stream=True, stdoutOffset=0, stderrOffset=0, previewBytes=1000)
        return self.outcome(self._channel)

    def done(self, operation: str, data: bytes = b'', **fields: Any) -> dict[str, Any]:
        """The end of an operation, on a channel of its own."""
        self._channel += 1
        self.ask(self._channel, operation, **fields)
        if data:
            self.send('data', self._channel, data)
        return self.outcome(self._channel)[0]

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


@pytest.fixture(params=PROGRAMS)
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    # Paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix='longshore-', dir='/tmp') as directory:
        yield from started(PROGRAMS[request.param], Path(directory))


def started(program: Path, place: Path) -> Iterator[Worker]:
    home = place / 'home'
    home.mkdir()
    options = {
        'socket': str(place / 'run/s'),
        'methods': str(place / 'tools'),
        'journal': str(place / 'execs'),
        'home': str(home),
        'uid': str(os.getuid()),
        'gid': str(os.getgid()),
        'home-name': '/home/user',
        'environment': json.dumps({'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}', 'LONGSHORE_CODE': str(place / 'code')}),
    }
    words = [word for name, value in options.items() for word in (f'--{name}', value)]
    with subprocess.Popen([sys.executable, '-I', '-S', '-B', str(program), *words]) as supervisor:
        try:
            limit = time.monotonic() + 30
            while not (place / 'run/s').exists():
                assert supervisor.poll() is None, 'the supervisor ended at its start'
                assert time.monotonic() < limit, 'the supervisor does not listen'
                time.sleep(0.01)
            worker = Worker(place / 'run/s', 30)
            yield worker
            worker.close()
        finally:
            supervisor.send_signal(signal.SIGTERM)
