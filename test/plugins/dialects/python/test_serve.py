"""Rules of the process that runs a plugin: when it loads it, when it ends, and what requests are answered meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from longshore_host import serve
from longshore_host.stdio import Connection, RequestFailed
from longshore_host.tasks import Tasks

if TYPE_CHECKING:
    from pathlib import Path


class Plugin:
    """Does what a test says when it is loaded, called or unloaded."""

    plugin_id = 'example'

    def __init__(self) -> None:
        self.done: list[str] = []
        self.may_load = asyncio.Event()
        self.may_unload = asyncio.Event()
        self.problem: BaseException | None = None

    def prepare(self) -> None:
        self.done.append('prepared')

    async def load(self) -> None:
        self.done.append('loading')
        await self.may_load.wait()
        self.done.append('loaded')

    async def configure(self, config: dict[str, Any]) -> None:
        self.done.append(f'configured {config}')

    async def unload(self) -> None:
        self.done.append('unloading')
        await self.may_unload.wait()
        self.done.append('unloaded')

    def tools(self) -> list[dict[str, Any]]:
        return []

    def describe(self) -> dict[str, Any]:
        if self.problem is not None:
            raise self.problem
        return {}

    async def call(self, name: str, arguments: dict[str, Any], caller: dict[str, Any]) -> dict[str, Any]:
        self.done.append(f'called {name}')
        return {'value': name}


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, '_PLACE', str(tmp_path))
    monkeypatch.setattr(serve, '_NEWEST', str(tmp_path / 'newest'))
    monkeypatch.setattr(serve, 'tasks', Tasks())


async def until(holds: Any) -> None:
    while not holds():
        await asyncio.sleep(0.001)


def call(name: str) -> dict[str, Any]:
    return {'name': name, 'config': {}}


def test_a_plugin_goes_on_loading_when_the_first_request_is_given_up() -> None:
    async def work() -> None:
        plugin = Plugin()
        host = serve.Host('serve', 'it', lambda config: plugin, None)
        first = asyncio.ensure_future(host.answer('tools/call', call('one')))
        await until(lambda: 'loading' in plugin.done)
        first.cancel()
        second = asyncio.ensure_future(host.answer('tools/call', call('two')))
        await asyncio.sleep(0)
        plugin.may_load.set()
        assert await second == {'value': 'two'}
        assert plugin.done == ['prepared', 'loading', 'loaded', 'called two']

    asyncio.run(work())


def test_a_process_that_ends_begins_no_call() -> None:
    async def work() -> None:
        plugin = Plugin()
        plugin.may_load.set()
        host = serve.Host('serve', 'it', lambda config: plugin, None)
        await host.answer('tools/call', call('one'))
        ending = asyncio.ensure_future(host.unload())
        await until(lambda: 'unloading' in plugin.done)
        with pytest.raises(RequestFailed, match='the call was not made'):
            await host.answer('tools/call', call('two'))
        plugin.may_unload.set()
        await ending
        assert plugin.done == ['prepared', 'loading', 'loaded', 'called one', 'unloading', 'unloaded']

    asyncio.run(work())


def test_a_process_ends_although_its_plugin_does_not_finish_unloading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, '_UNLOADS_SECONDS', 0.01)

    async def work() -> None:
        plugin = Plugin()
        plugin.may_load.set()
        host = serve.Host('serve', 'it', lambda config: plugin, None)
        await host.answer('tools/call', call('one'))
        await asyncio.wait_for(host.unload(), 60)
        assert plugin.done[-1] == 'unloading'

    asyncio.run(work())


class Panic(BaseException):
    pass


@pytest.mark.parametrize(
    ('problem', 'message'),
    [
        (RuntimeError('no schema'), 'RuntimeError: no schema'),
        (AttributeError('no schema'), 'AttributeError: no schema'),
        (ValueError('no schema'), 'ValueError: no schema'),
        (SystemExit('no schema'), 'SystemExit: no schema'),
        (Panic('no schema'), 'Panic: no schema'),
        (asyncio.CancelledError(), 'CancelledError: it was cancelled by its own code, as when that waits for a task that it has cancelled'),
    ],
)
def test_any_problem_is_an_answer(problem: BaseException, message: str) -> None:
    async def work() -> None:
        plugin = Plugin()
        plugin.problem = problem
        plugin.may_load.set()
        host = serve.Host('describe', 'it', lambda config: plugin, {})
        theirs, ours = os.pipe(), os.pipe()
        serving = asyncio.ensure_future(Connection(theirs[0], ours[1]).serve(host.answer))
        os.write(theirs[1], json.dumps({'id': 'one', 'method': 'longshore/describe', 'params': {}}).encode() + b'\n')
        with os.fdopen(ours[0], 'rb') as source:
            os.set_blocking(ours[0], False)
            lines: list[bytes] = []

            def has_answer() -> bool:
                lines.append(source.readline() or b'')
                return lines[-1] != b''

            await asyncio.wait_for(until(has_answer), 60)
        assert json.loads(lines[-1])['error']['message'] == message
        os.close(theirs[1])
        await serving
        os.close(ours[1])

    asyncio.run(work())
