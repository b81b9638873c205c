"""Runs one plugin, as a server of the Model Context Protocol over stdin and stdout.
Arguments of the program: `serve` or `describe`, the name of the server, the id of the plugin, the directory of its code, that of its packages.
Its configuration is JSON in LONGSHORE_PLUGIN_CONFIG. With `describe` it only says what the plugin offers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from typing import Any, Callable, NoReturn, Protocol

from longshore_host.proxies import respect_proxies
from longshore_host.questions import take_channel
from longshore_host.stdio import Connection, RequestFailed

_NEWEST = os.path.join(os.path.expanduser('~'), '.longshore-plugin', 'newest')
_LOOK_EVERY = 2.0


class LoadedPlugin(Protocol):
    """A plugin in this process, as its dialect has it."""

    plugin_id: str

    def prepare(self) -> None:
        """Runs its code up to where it is known what it offers."""

    async def load(self) -> None: ...

    async def unload(self) -> None: ...

    def tools(self) -> list[dict[str, Any]]: ...

    def describe(self) -> dict[str, Any]:
        """All that is said of it before it is loaded."""

    async def call(self, name: str, arguments: dict[str, Any], caller: dict[str, Any]) -> dict[str, Any]: ...


# Makes it of the id of the plugin, the directory of its code, and its configuration.
Load = Callable[[str, str, 'dict[str, Any]'], LoadedPlugin]


class Host:
    """Answers the requests of one connection."""

    def __init__(self, mode: str, name: str, plugin: LoadedPlugin) -> None:
        self._mode = mode
        self._name = name
        self._plugin = plugin
        self._has_begun = False

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == 'initialize':
            return await self._begin(params)
        if method == 'ping':
            return {}
        if method == 'tools/list':
            return {'tools': [{'name': tool['name'], 'description': tool['description'], 'inputSchema': tool['parameters']} for tool in self._plugin.tools()]}
        if method == 'tools/call':
            take_channel(params)
            return await self._plugin.call(params['name'], params.get('arguments') or {}, params.get('caller') or {})
        if method == 'longshore/describe':
            return self._plugin.describe()
        raise RequestFailed(-32601, f'{method} is not offered')

    async def _begin(self, params: dict[str, Any]) -> dict[str, Any]:
        try:
            self._plugin.prepare()
            if self._mode == 'serve':
                await self._plugin.load()
                _note_newest(self._name)
                self._has_begun = True
        # Code of a stranger may raise anything, also to end the process.
        except (Exception, SystemExit) as problem:
            logging.exception('the plugin cannot be loaded')
            raise RequestFailed(-32000, f'{type(problem).__name__}: {problem}') from problem
        about = {'name': self._plugin.plugin_id, 'version': '1'}
        return {'protocolVersion': params.get('protocolVersion'), 'capabilities': {'tools': {}}, 'serverInfo': about}

    async def until_followed(self, connection: Connection) -> None:
        """Returns when a server of another version or configuration has begun after this one, and no call is in progress here."""
        while not (self._has_begun and connection.is_idle() and _newest() not in ('', self._name)):
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
    plugin = load(plugin_id, os.path.abspath(code), json.loads(os.environ.pop('LONGSHORE_PLUGIN_CONFIG', '{}')))
    host = Host(mode, name, plugin)
    serving = asyncio.ensure_future(connection.serve(host.answer))
    endings = [serving, asyncio.ensure_future(host.until_followed(connection))]
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
    await plugin.unload()


def serve(load: Load) -> NoReturn:
    asyncio.run(_main(load, *sys.argv[1:6]))
    # Threads of the plugin do not keep the process.
    sys.stderr.flush()
    os._exit(0)
