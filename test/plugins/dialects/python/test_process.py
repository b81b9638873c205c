"""Rules of the end of the process that runs a plugin: nothing that the plugin leaves keeps it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
import asyncio, sys, threading, time
from longshore_host.serve import serve

async def stubborn():
    while True:
        try:
            await asyncio.sleep(60)
        except BaseException:
            pass

async def ending():
    sys.exit(5)

class Plugin:
    def __init__(self, plugin_id, code, config): pass
    def prepare(self): pass
    async def load(self):
        threading.Thread(target=time.sleep, args=(600,)).start()
        self.left = [asyncio.ensure_future(asyncio.to_thread(time.sleep, 600)), asyncio.ensure_future(stubborn())]
    async def unload(self): pass
    def tools(self): return []
    def describe(self): return {}
    async def call(self, name, arguments, caller):
        if name == 'stop': asyncio.get_running_loop().stop()
        elif name == 'exit': self.left.append(asyncio.ensure_future(ending()))
        else: return {'value': 'x' * 9_000_000 if name == 'huge' else name}
        await asyncio.Event().wait()

serve(Plugin)
"""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    (tmp_path / 'code').mkdir()
    (tmp_path / '.longshore-plugin').mkdir()
    program = tmp_path / 'program.py'
    program.write_text(PROGRAM)
    environment = {**os.environ, 'HOME': str(tmp_path), 'PYTHONPATH': os.pathsep.join(sys.path), 'LONGSHORE_PLUGIN_CONFIG': '{}'}
    command = [sys.executable, str(program), 'serve', 'it', 'example', str(tmp_path / 'code'), str(tmp_path)]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    try:
        yield running
    finally:
        running.kill()
        running.wait()
        for pipe in (running.stdin, running.stdout):
            assert pipe is not None
            pipe.close()


def ask(process: subprocess.Popen[bytes], name: str) -> None:
    assert process.stdin is not None
    message = {'jsonrpc': '2.0', 'id': name, 'method': 'tools/call', 'params': {'name': name}}
    process.stdin.write(json.dumps(message).encode() + b'\n')
    process.stdin.flush()


def test_it_ends_with_its_connection(process: subprocess.Popen[bytes]) -> None:
    ask(process, 'one')
    assert process.stdin is not None
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())['result'] == {'value': 'one'}
    process.stdin.close()
    assert process.wait(60) == 0


def test_an_answer_that_is_too_large_is_refused_and_the_process_goes_on(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    ask(process, 'huge')
    problem = json.loads(process.stdout.readline())['error']['message']
    assert problem == 'its result, with what it sends, has 9000058 bytes as JSON; at most 8388608 are allowed'
    ask(process, 'one')
    assert json.loads(process.stdout.readline())['result'] == {'value': 'one'}


@pytest.mark.parametrize('name', ['exit', 'stop'])
def test_it_ends_when_the_plugin_ends_it_from_within(process: subprocess.Popen[bytes], name: str) -> None:
    ask(process, name)
    assert process.wait(60) == 1
