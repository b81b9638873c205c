"""The whole program on this Python, with and without the private modules of CPython that it prefers."""

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

from shared.protocol import FRAMES, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = {
    'as it is': Path(__file__).parents[3] / 'src/sandbox/supervisor/supervisor.py',
    'without private modules': Path(__file__).parent / 'shared/without_cores.py',
}
NAMES = {number: name for name, number in FRAMES.items()}
TOOL_CALL = """
from longshore_client import call
print('the answer is', call('notes:add', {'text': 'ü'}))
"""


class Worker:
    """The worker's end of the connection."""

    def __init__(self, path: Path, limit: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(limit)
        self._socket.connect(str(path))
        self._stream = self._socket.makefile('rb')

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
        'environment': json.dumps({'PATH': os.environ['PATH']}),
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


def exec_of(exec_id: str, command: str, **fields: Any) -> dict[str, Any]:
    given = {'execId': exec_id, 'command': command, 'cwd': '', 'env': {}, 'timeoutMs': 30_000, 'maxOutputBytes': 10_000, 'stdin': 'empty'}
    follow = {'stream': True, 'stdoutOffset': 0, 'stderrOffset': 0, 'previewBytes': 1000}
    return {**given, **follow, **fields}


def test_commands_run_once_and_are_kept(worker: Worker) -> None:
    worker.ask(1, 'hello', version=VERSION)
    assert worker.outcome(1)[0]['version'] == VERSION
    for number in (2, 3):
        worker.ask(number, 'run', **exec_of('one', 'echo said; echo again >> count; wc -l < count; exit 3'))
        end, data = worker.outcome(number)
        assert (data, end['exit']['status'], end['exit']['exitCode']) == (b'said\n1\n', 'exited', 3)
    worker.ask(4, 'run', **exec_of('one', 'other'))
    assert worker.outcome(4)[0]['code'] == 'EXEC_MISMATCH'


def test_signals_reach_the_whole_tree(worker: Worker) -> None:
    worker.ask(1, 'run', **exec_of('one', 'setsid sleep 600 & echo up; wait'))
    while worker.receive()[0] != 'data':
        pass
    worker.ask(2, 'signal', execId='one', signal='SIGKILL')
    end, _ = worker.outcome(1)
    assert (end['exit']['status'], end['exit']['signal']) == ('killed', 'SIGKILL')


def test_files_are_written_and_read(worker: Worker) -> None:
    worker.ask(1, 'writeFile', path='/home/user/file', size=5, parents=True)
    worker.send('data', 1, b'hello')
    assert worker.outcome(1)[0] == {}
    worker.ask(2, 'readFile', path='file', offset=0, maxBytes=100)
    end, data = worker.outcome(2)
    assert (data, end['size']) == (b'hello', 5)


def test_code_calls_tools(worker: Worker) -> None:
    command = f'exec {sys.executable} -c "{TOOL_CALL}"'
    worker.ask(1, 'start', **{name: value for name, value in exec_of('one', command, methods=True).items() if name not in FOLLOW})
    worker.outcome(1)
    worker.ask(2, 'calls', execId='one')
    line = b''
    while not line.endswith(b'\n'):
        name, number, payload = worker.receive()
        line += payload if (name, number) == ('data', 2) else b''
    told = json.loads(line)
    assert (told['number'], told['tool'], told['arguments']) == (1, 'notes:add', {'text': 'ü'})
    body = b'{"ok":"kept"}'
    worker.ask(3, 'answer', execId='one', number=1, size=len(body))
    worker.send('data', 3, body)
    worker.ask(4, 'attach', **{name: value for name, value in exec_of('one', '').items() if name in FOLLOW or name == 'execId'})
    end, data = worker.outcome(4)
    assert (data, end['exit']['exitCode']) == (b'the answer is kept\n', 0), end
    assert end['stderr']['head'] == ''


FOLLOW = ('stream', 'stdoutOffset', 'stderrOffset', 'previewBytes')
