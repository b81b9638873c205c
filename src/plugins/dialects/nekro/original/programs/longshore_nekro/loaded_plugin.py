"""A plugin in this process: its module, its object, its methods."""

from __future__ import annotations

import importlib.util
import inspect
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longshore_host.apart import apart, text_of
from longshore_host.calls import current
from longshore_host.plain import plain, whole
from longshore_host.plugin_state import PluginState
from longshore_host.stdio import RequestFailed
from longshore_nekro.calling import Caller, MethodCall, forget_old_calls
from longshore_nekro.command_types import BEGINNING
from longshore_nekro.webhooks import WEBHOOK, answer_request

if TYPE_CHECKING:
    from longshore_nekro.context import AgentCtx
    from longshore_nekro.plugin import NekroPlugin, SandboxMethod

_MODULE = 'longshore_plugin'
_ENTRIES = ('__init__.py', 'plugin.py')


class LoadedPlugin(PluginState):
    def prepare(self) -> None:
        """Imports the plugin. Its configuration is known before: plugins read it while they are imported."""
        from longshore_nekro.plugin import environment

        environment.code, environment.home, environment.config = Path(self._code), Path.home(), self._config
        from longshore_nekro.modules import offer_modules

        offer_modules()
        module = _import_entry(self._code)
        if environment.made == [] and os.path.exists(os.path.join(self._code, 'plugin.py')):
            module = importlib.import_module(f'{_MODULE}.plugin')
        self._plugin = _plugin_of(module, environment.made)

    async def load(self) -> None:
        forget_old_calls(Path.home() / '.longshore-calls')
        if self._plugin.init_method is not None:
            await _await(self._plugin.init_method())
        self._is_loaded = True

    async def configure(self, config: dict[str, Any]) -> None:
        """Plugins read their settings while they are imported."""
        raise RequestFailed(-32602, 'other settings are for another process')

    async def unload(self) -> None:
        if not self._is_loaded or self._plugin.cleanup_method is None:
            return
        try:
            await _await(self._plugin.cleanup_method())
        # Code of a stranger may raise anything. An end that it wants would leave the process with the threads of the plugin.
        except (Exception, SystemExit):
            logging.exception('the cleanup method failed')

    def tools(self) -> list[dict[str, Any]]:
        from longshore_nekro.methods import described

        return [described(method) for method in self._plugin.sandbox_methods]

    def commands(self) -> list[dict[str, Any]]:
        from longshore_nekro.commands import described

        return [described(command, self._plugin.module_name) for command in self._plugin.commands]

    def describe(self) -> dict[str, Any]:
        from longshore_nekro.config_base import schema_of
        from longshore_nekro.plugin import environment
        from longshore_nekro.scan_source import scan

        plugin: NekroPlugin = self._plugin
        return {
            'name': plugin.name,
            'moduleName': plugin.module_name,
            'version': plugin.version,
            'description': plugin.description,
            'sleepBrief': plugin.sleep_brief,
            'allowSleep': plugin.allow_sleep,
            'tools': self.tools(),
            'commands': self.commands(),
            'webhooks': [
                {'endpoint': endpoint, 'name': str(method.name), 'description': str(method.description or '')}
                for endpoint, method in plugin.webhook_methods.items()
            ],
            'others': environment.others,
            'configSchema': None if plugin.config_model is None else schema_of(plugin.config_model),
            'injects': plugin.prompt_method is not None,
            'collects': plugin.collect_method is not None,
            **scan(self._code),
        }

    async def call(self, name: str, arguments: dict[str, Any], caller: Any) -> dict[str, Any]:
        if name == '':
            return {'value': await self._told(caller)}
        if name.startswith(BEGINNING):
            return await self._answered(name[len(BEGINNING) :], str(arguments.get('text', '')), caller)
        if name.startswith(WEBHOOK):
            return await self._received(name[len(WEBHOOK) :], arguments)
        method = next((each for each in self._plugin.sandbox_methods if each.func.__name__ == name), None)
        if method is None:
            raise RequestFailed(-32602, f'the plugin has no method {name}')
        call = MethodCall(caller)
        token = current.set(call)
        try:
            return {'value': await apart(_run(method, arguments, _context_of(caller))), **call.answer()}
        # Code of a stranger may raise anything, also to end the process.
        except (Exception, SystemExit) as problem:
            logging.exception('the method %s failed', name)
            return {'failed': text_of(problem), **call.answer()}
        finally:
            call.over = True
            current.reset(token)

    async def _answered(self, name: str, text: str, caller: Any) -> dict[str, Any]:
        """The answer to a command: whether it has succeeded, and what it says."""
        from longshore_nekro.answering import answer_of

        command = next((each for each in self._plugin.commands if each.name == name), None)
        if command is None:
            raise RequestFailed(-32602, f'the plugin has no command {name}')
        call = MethodCall(caller)
        token = current.set(call)
        try:
            return {'value': await apart(answer_of(command, text, call)), **call.answer()}
        # Code of a stranger may raise anything, also to end the process.
        except (Exception, SystemExit) as problem:
            logging.exception('the command %s failed', name)
            return {'failed': text_of(problem), **call.answer()}
        finally:
            call.over = True
            current.reset(token)

    async def _received(self, endpoint: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Calls the function of a webhook. It is no call of a conversation: what it sends goes the way of what tasks send."""
        method = self._plugin.webhook_methods.get(endpoint)
        if method is None:
            raise RequestFailed(-32602, f'the plugin has no webhook {endpoint!r}')
        try:
            await apart(_await(answer_request(method.func, arguments)))
            return {}
        # Code of a stranger may raise anything, also to end the process.
        except (Exception, SystemExit) as problem:
            logging.exception('the webhook %s failed', endpoint)
            return {'failed': text_of(problem)}

    async def _told(self, caller: Caller) -> dict[str, Any]:
        """What the plugin says before a step: a text for the instructions, and which methods the conversation has."""
        call = MethodCall(caller)
        call.only_tells = True
        token = current.set(call)
        try:
            return {'text': await self._injected(_context_of(caller)), 'methods': await self._collected(_context_of(caller))}
        except (Exception, SystemExit) as problem:
            logging.exception('the methods of a conversation cannot be chosen')
            raise RequestFailed(-32000, text_of(problem)) from problem
        finally:
            call.over = True
            current.reset(token)

    async def _injected(self, context: AgentCtx) -> str:
        inject = self._plugin.prompt_method
        try:
            return '' if inject is None else str(await _await(inject(context)) or '')
        except (Exception, SystemExit):
            logging.exception('the text for the instructions failed, and is left out')
            return ''

    async def _collected(self, context: AgentCtx) -> list[str] | None:
        collect = self._plugin.collect_method
        if collect is None:
            return None
        chosen = await _await(collect(context))
        return [str(getattr(getattr(each, 'func', each), '__name__', each)) for each in chosen]


def _context_of(caller: Any) -> AgentCtx:
    from longshore_nekro.context import AgentCtx

    return AgentCtx(caller)


async def _run(method: SandboxMethod, arguments: dict[str, Any], context: AgentCtx) -> Any:
    from longshore_nekro.methods import bound

    positional, named = bound(method.func, context, arguments)
    value = await _await(method.func(*positional, **named))
    if method.method_type.value in ('agent', 'behavior'):
        return str(whole(value))
    return _plain(value)


def _import_entry(code: str) -> Any:
    """The module is a package, which imports its neighbours relative to itself; those that it imports by their names come after all others."""
    sys.path.append(code)
    name = next((name for name in _ENTRIES if os.path.exists(os.path.join(code, name))), _ENTRIES[0])
    spec = importlib.util.spec_from_file_location(_MODULE, os.path.join(code, name), submodule_search_locations=[code])
    if spec is None or spec.loader is None:
        raise ImportError(f'{name} cannot be imported')
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    spec.loader.exec_module(module)
    return module


def _plugin_of(module: Any, made: list[NekroPlugin]) -> NekroPlugin:
    named = getattr(module, 'plugin', None)
    if named in made:
        return named  # type: ignore[no-any-return]
    if len(made) == 1:
        return made[0]
    raise ImportError('it makes no NekroPlugin' if made == [] else f'it makes {len(made)} NekroPlugins, and none of them is its variable plugin')


async def _await(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _plain(value: Any) -> Any:
    """The value as JSON has it."""
    return plain(value, _simple, _refused)


def _refused(number: str, why: str) -> Any:
    raise ValueError(f'it returned {number[:40]}: {why}; return None or a text')


def _simple(value: Any) -> Any:
    if hasattr(value, 'model_dump'):
        return value.model_dump(mode='json')
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError('it returned bytes; put them into the sandbox with ctx.fs.mixed_forward_file and return the path')
    if hasattr(value, 'isoformat'):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f'it returned a {type(value).__name__}, which is no JSON')
