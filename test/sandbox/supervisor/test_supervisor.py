"""The whole program on this Python, with and without the private modules of CPython that it prefers."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from shared.protocol import VERSION

if TYPE_CHECKING:
    from test.sandbox.supervisor.conftest import Worker

TOOL_CALL = """
from longshore_client import call
print('the answer is', call('notes:add', {'text': 'ü'}))
"""


def test_commands_run_once_and_are_kept(worker: Worker) -> None:
    assert worker.done('hello', version=VERSION)['version'] == VERSION
    for _ in range(2):
        worker.start('one', command='echo said; echo again >> count; wc -l < count; exit 3')
        end, data = worker.follow('one')
        assert (data, end['exit']['status'], end['exit']['exitCode']) == (b'said\n1\n', 'exited', 3)
    assert worker.done('run', **FOLLOWED, command='other')['code'] == 'EXEC_MISMATCH'


def test_signals_reach_the_whole_tree(worker: Worker) -> None:
    worker.ask(1, 'run', **FOLLOWED, command='setsid sleep 600 & echo up; wait')
    while worker.receive()[0] != 'data':
        pass
    worker.done('signal', execId='one', signal='SIGKILL')
    end, _ = worker.follow('one')
    assert (end['exit']['status'], end['exit']['signal']) == ('killed', 'SIGKILL')


def test_files_are_written_and_read(worker: Worker) -> None:
    assert worker.done('writeFile', b'hello', path='/home/user/file', size=5, parents=True) == {}
    worker.ask(1, 'readFile', path='file', offset=0, maxBytes=100)
    end, data = worker.outcome(1)
    assert (data, end['size']) == (b'hello', 5)


def test_code_calls_tools(worker: Worker) -> None:
    worker.start('one', command=f'exec {sys.executable} -c "{TOOL_CALL}"', methods=True)
    worker.ask(1, 'calls', execId='one')
    line = b''
    while not line.endswith(b'\n'):
        name, number, payload = worker.receive()
        line += payload if (name, number) == ('data', 1) else b''
    told = json.loads(line)
    assert (told['number'], told['tool'], told['arguments']) == (1, 'notes:add', {'text': 'ü'})
    body = b'{"ok":"kept"}'
    worker.done('answer', body, execId='one', number=1, size=len(body))
    end, data = worker.follow('one')
    assert (data, end['exit']['exitCode'], end['stderr']['head']) == (b'the answer is kept\n', 0, '')


FOLLOWED: dict[str, Any] = {
    'execId': 'one',
    'cwd': '',
    'env': {},
    'timeoutMs': 30_000,
    'maxOutputBytes': 100_000,
    'stdin': 'empty',
    'stream': True,
    'stdoutOffset': 0,
    'stderrOffset': 0,
    'previewBytes': 1000,
}
