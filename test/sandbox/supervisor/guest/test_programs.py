"""The programs that run as the guest, on this Python: in its own image a user may have another than ours."""

from __future__ import annotations

import json
import struct
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from test.sandbox.supervisor.conftest import Worker

# None of them uses private modules.
pytestmark = pytest.mark.parametrize('worker', ['as it is'], indirect=True)
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked['method'] == 'initialize':
        result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'notes', 'version': '1'}}
    elif asked['method'] == 'tools/list':
        result = {'tools': []}
    else:
        continue
    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)
"""


def evaluate(worker: Worker, exec_id: str, code: str, **fields: Any) -> list[dict[str, Any]]:
    """What the interpreter reported about a piece of code."""
    worker.start(exec_id, stdin='open', **fields)
    worker.give(exec_id, json.dumps({'code': code, 'cwd': None, 'env': {}}).encode() + b'\n')
    end, output = worker.follow(exec_id)
    assert end['exit']['exitCode'] == 0, end
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize(
    ('code', 'kinds'),
    [
        ('print(1); 2 + 3', [('stdout', '1'), ('stdout', '\n'), ('result', '5')]),
        ('import asyncio\nawait asyncio.sleep(0)\n[1]', [('result', '[1]')]),
        ('import os; _ = os.system("echo below")', [('stdout', 'below\n')]),
        # Annotations mean what they mean in a program of the guest's own: they are evaluated.
        ('def f(x: int): pass\nf.__annotations__["x"] is int', [('result', 'True')]),
    ],
)
def test_code_is_evaluated(worker: Worker, code: str, kinds: list[tuple[str, str]]) -> None:
    told = evaluate(worker, 'one', code, program='python')
    assert [(each['type'], each['text'] if 'text' in each else each['data']['text/plain']) for each in told[1:-1]] == kinds
    assert (told[0]['type'], told[-1]['type'], told[-1].get('error')) == ('started', 'ended', None)


def test_an_error_is_told_with_the_lines_of_the_code_alone(worker: Worker) -> None:
    error = evaluate(worker, 'one', 'def fail():\n    raise ValueError("no")\nfail()', program='python')[-1]['error']
    assert (error['type'], error['message']) == ('ValueError', 'no')
    assert 'raise ValueError("no")' in error['traceback']
    assert 'interpreter.py' not in error['traceback']


def test_a_context_keeps_its_names(worker: Worker) -> None:
    worker.start('context', program='python', argv=['shared'])
    assert evaluate(worker, 'one', 'x = 40', program='call', argv=['shared'])[-1]['type'] == 'ended'
    told = evaluate(worker, 'two', 'x + 2', program='call', argv=['shared'])
    assert [each['data']['text/plain'] for each in told if each['type'] == 'result'] == ['42']
    worker.done('signal', execId='context', signal='SIGKILL')


def test_a_terminal_is_one_and_has_the_size_that_was_asked_for(worker: Worker) -> None:
    worker.start('one', program='terminal', argv=['91', '31', 'sh', '-c', 'read line; stty size; echo "$line"; test -t 0'], stdin='open')
    worker.give('one', struct.pack('>cIHH', b's', 4, 92, 32) + struct.pack('>cI', b'i', 6) + b'typed\r')
    end, output = worker.follow('one')
    assert end['exit']['exitCode'] == 0, end
    assert output.split() == [b'typed', b'32', b'92', b'typed']


def test_a_server_is_asked_by_way_of_its_keeper(worker: Worker) -> None:
    worker.start('keeper', program='mcp', argv=['notes', sys.executable, '-c', SERVER])
    worker.start('one', program='mcp-call', argv=['notes'], stdin='open')
    worker.give('one', b'{"id": "1", "method": "tools/list", "params": {}}\n')
    end, output = worker.follow('one')
    assert end['exit']['exitCode'] == 0, end
    told = [json.loads(line) for line in output.splitlines()]
    server = {'name': 'notes', 'version': '1', 'offers': ['tools'], 'instructions': ''}
    assert told == [{'type': 'answer', 'result': {'tools': []}, 'server': server}]
    worker.done('signal', execId='keeper', signal='SIGKILL')
