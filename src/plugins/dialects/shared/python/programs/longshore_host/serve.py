"""Runs one plugin, as a server of the Model Context Protocol over stdin and stdout.
Arguments of the program: `serve` or `describe`, the name of the server, the id of the plugin, the directory of its code, that of its packages.
Its configuration is JSON in LONGSHORE_PLUGIN_CONFIG; or it comes with each request, as `config`, and the plugin is loaded with the first one. With `describe`
it only says what the plugin offers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from typing import Any, Callable, NoReturn, Protocol

from longshore_host.apart import text_of
from longshore_host.compile_first import compile_first
from longshore_host.proxies import respect_proxies
from longshore_host.questions import take_channel
from longshore_host.stdio import Connection, RequestFailed
from longshore_host.tasks import tasks

_PLACE = os.path.join(os.path.expanduser('~'), '.longshore-plugin')
_NEWEST = os.path.join(_PLACE, 'newest')
_LOOK_EVERY = 2.0
_UNLOADS_SECONDS = 10.0
_CLEANS_UP_SECONDS = 2.0
_ENDS = 'the process of the plugin ends, since another version or configuration of it has begun or its sandbox rests; the call was not made'


class LoadedPlugin(Protocol):
    """A plugin in this process, as its dialect has it."""

    plugin_id: str

    def prepare(self) -> None:
        """Runs its code up to where it is known what it offers."""

    async def load(self) -> None: ...

    async def configure(self, config: dict[str, Any]) -> None:
        """Gives changed settings to the loaded plugin."""

    async def unload(self) -> None: ...

    def tools(self) -> list[dict[str, Any]]: ...

    def describe(self) -> dict[str, Any]:
        """All that is said of it before it is loaded."""

    async def call(self, name: str, arguments: dict[str, Any], caller: dict[str, Any]) -> dict[str, Any]: ...


# Makes it of the id of the plugin, the directory of its code, and its configuration.
Load = Callable[[str, str, 'dict[str, Any]'], LoadedPlugin]


class Host:
    """Answers the requests of one connection."""

    def __init__(self, mode: str, name: str, make: Callable[[dict[str, Any]], LoadedPlugin], config: dict[str, Any] | None) -> None:
        self._mode = mode
        self._name = name
        self._make = make
        # Of the plugin as it was loaded. None: it comes with the first request.
        self._config = config
        self._plugin: LoadedPlugin | None = None
        self._configuring = asyncio.Lock()
        self._changes: set[asyncio.Future[Any]] = set()
        self._has_begun = False
        self._is_ending = False

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == 'initialize':
            if self._config is not None:
                await self._configured(self._config)
            about = {'name': self._name, 'version': '1'}
            return {'protocolVersion': params.get('protocolVersion'), 'capabilities': {'tools': {}}, 'serverInfo': about}
        if method == 'ping':
            return {}
        if method == 'longshore/tasks':
            return tasks.exchange(params.get('answers') or {})
        if method not in ('tools/list', 'tools/call', 'longshore/configure', 'longshore/describe'):
            raise RequestFailed(-32601, f'{method} is not offered')
        plugin = await self._configured(params.get('config'))
        if method == 'tools/list':
            return {'tools': [{'name': tool['name'], 'description': tool['description'], 'inputSchema': tool['parameters']} for tool in plugin.tools()]}
        if method == 'tools/call':
            channel = take_channel(params)
            try:
                return await plugin.call(params['name'], params.get('arguments') or {}, params.get('caller') or {})
            finally:
                channel.close()
        return plugin.describe() if method == 'longshore/describe' else {}

    async def _configured(self, given: dict[str, Any] | None) -> LoadedPlugin:
        """The plugin with these settings, or with those that it has."""
        if self._is_ending:
            raise RequestFailed(-32000, _ENDS)
        if self._plugin is not None and not self._configuring.locked() and given in (None, self._config):
            return self._plugin
        # All requests need it: one that is given up does not end it half-way. The loop itself keeps no task.
        change = asyncio.ensure_future(self._change(given))
        self._changes.add(change)
        change.add_done_callback(self._changes.discard)
        return await asyncio.shield(change)

    async def _change(self, given: dict[str, Any] | None) -> LoadedPlugin:
        async with self._configuring:
            config = self._config if given is None else given
            if self._plugin is None:
                if config is None:
                    raise RequestFailed(-32002, 'the plugin has no settings yet')
                self._plugin = await self._begin(config)
            elif config is not None and config != self._config:
                await self._plugin.configure(config)
            self._config = config
            return self._plugin

    async def _begin(self, config: dict[str, Any]) -> LoadedPlugin:
        # The plugin may change what it is given.
        plugin = self._make(json.loads(json.dumps(config)))
        try:
            plugin.prepare()
            if self._mode == 'serve':
                tasks.begin(os.path.join(_PLACE, f'asks-{self._name}'))
                await plugin.load()
                tasks.end_loading()
                _note_newest(self._name)
                self._has_begun = True
        # Code of a stranger may raise anything, also to end the process.
        except (Exception, SystemExit) as problem:
            logging.exception('the plugin cannot be loaded')
            raise RequestFailed(-32000, text_of(problem)) from problem
        return plugin

    async def unload(self) -> None:
        """Lets the plugin clean up, for some time. What is asked meanwhile is not begun, since the process would end during it."""
        self._is_ending = True
        if self._plugin is not None:
            unloading = asyncio.ensure_future(self._plugin.unload())
            await asyncio.wait([unloading], timeout=_UNLOADS_SECONDS)
            if not unloading.done():
                logging.warning('the plugin has not finished unloading within %s seconds', _UNLOADS_SECONDS)

    async def until_followed(self, connection: Connection) -> None:
        """Returns when a server of another version or configuration has begun after this one, and no call is in progress here."""
        while not (self._has_begun and connection.is_idle() and not self._changes and _newest() not in ('', self._name)):
            await asyncio.sleep(_LOOK_EVERY)


def _note_newest(name: str) -> None:
    beside = f'{_NEWEST}.{os.getpid()}'
    with open(beside, 'w', encoding='utf-8') as file:
        file.write(name)
    os.replace(beside, _NEWEST)


def _newest() -> str:
    try:
        with open(_NEWEST, encoding='utf-8') as file:
            return file.read()
    except OSError:
        return ''


async def _main(load: Load, mode: str, name: str, plugin_id: str, code: str, packages: str) -> None:
    # Before any code of the plugin runs: what it prints must not get into the protocol.
    connection = Connection.take_stdio()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format='%(levelname)s %(name)s: %(message)s')
    sys.path[1:1] = [os.path.abspath(packages)]
    respect_proxies()
    given = os.environ.pop('LONGSHORE_PLUGIN_CONFIG', None)
    host = Host(mode, name, lambda config: load(plugin_id, os.path.abspath(code), config), None if given is None else json.loads(given))
    serving = asyncio.ensure_future(connection.serve(host.answer))
    endings = [serving, asyncio.ensure_future(host.until_followed(connection))]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
    await host.unload()
    await _cancel_tasks()


async def _cancel_tasks() -> None:
    left = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_CLEANS_UP_SECONDS)


def serve(load: Load) -> NoReturn:
    mode, name, plugin_id, code, packages = sys.argv[1:6]
    if mode == 'serve':
        compile_first(code, packages)
    status = 1
    try:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.run_until_complete(_main(load, mode, name, plugin_id, code, packages))
        status = 0
    # Code of a stranger may stop the loop, or end the process from within a task.
    except BaseException:
        logging.exception('the process of the plugin ends')
    finally:
        # Neither threads of the plugin nor tasks that go on when they are cancelled keep the process, as `asyncio.run` would let them: it would answer nothing.
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(status)
