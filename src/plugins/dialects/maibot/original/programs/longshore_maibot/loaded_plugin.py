"""A plugin in this process: its module, its object, its components."""

from __future__ import annotations

import importlib.util
import inspect
import logging
import os
import sys
from pathlib import Path
from typing import Any, Callable

from longshore_host.apart import apart, text_of
from longshore_host.calls import Call, current
from longshore_host.plain import plain
from longshore_host.plugin_state import PluginState
from longshore_host.stdio import RequestFailed
from longshore_maibot import commands, events, hooks
from longshore_maibot.capabilities import Capabilities
from longshore_maibot.scan_source import scan

_MODULE = 'longshore_plugin'
_TIMEOUT_MS = 60_000
_KNOWN = ('TOOL', 'COMMAND', 'HOOK_HANDLER', 'EVENT_HANDLER')


class LoadedPlugin(PluginState):
    def __init__(self, plugin_id: str, code: str, config: dict[str, Any]) -> None:
        super().__init__(plugin_id, code, config)
        self._components: list[dict[str, Any]] = []

    def prepare(self) -> None:
        """Runs the plugin's code up to where its components are known. The configuration comes before them: components may depend on it."""
        from maibot_sdk.context import PluginContext, PluginPaths

        plugin = _import_entry(self._code).create_plugin()
        # Operators set single values; the SDK wants all of them, with the version of the plugin's settings.
        plugin.set_plugin_config(_merged(plugin.get_default_config(), self._config))
        home = Path.home()
        paths = PluginPaths(data_dir=home / 'data', runtime_dir=home / 'runtime')
        for path in (paths.data_dir, paths.runtime_dir):
            path.mkdir(parents=True, exist_ok=True)
        capabilities = Capabilities(self.plugin_id, self._config, plugin.get_plugin_config_data)
        plugin._set_context(PluginContext(self.plugin_id, capabilities.rpc_call, paths))
        self._plugin = plugin
        self._components = list(plugin.get_components())

    async def configure(self, config: dict[str, Any]) -> None:
        """Gives changed settings to the plugin, which goes on with what it has in memory. One that fails at it has them nevertheless, as in MaiBot."""
        bot = self._config.get('bot')
        # In place: what answers `config.get` has the same ones.
        self._config.clear()
        self._config.update(config)
        self._plugin.set_plugin_config(_merged(self._plugin.get_default_config(), config))
        data = self._plugin.get_plugin_config_data()
        about = data.get('plugin')
        version = str(about.get('config_version', '')) if isinstance(about, dict) else ''
        scopes = [('self', data)]
        if config.get('bot') != bot and 'bot' in self._plugin.get_config_reload_subscriptions():
            scopes.append(('bot', config.get('bot') or {}))
        for scope, changed in scopes:
            try:
                await apart(_await(self._plugin.on_config_update(scope, changed, version)))
            # Code of a stranger may raise anything, also to end the process.
            except (Exception, SystemExit):
                logging.exception('on_config_update failed')
        self._components = list(self._plugin.get_components())

    async def load(self) -> None:
        await _await(self._plugin.on_load())
        self._is_loaded = True
        # A plugin may make components when it is loaded.
        self._components = list(self._plugin.get_components())
        await events.tell(self._handlers(), events.START)

    async def unload(self) -> None:
        if not self._is_loaded:
            return
        await events.tell(self._handlers(), events.STOP)
        try:
            await _await(self._plugin.on_unload())
        # Code of a stranger may raise anything. An end that it wants would leave the process with the threads of the plugin.
        except (Exception, SystemExit):
            logging.exception('on_unload failed')

    def tools(self) -> list[dict[str, Any]]:
        return [_tool_of(component) for component in self._components if _kind_of(component) == 'TOOL']

    def commands(self) -> list[dict[str, Any]]:
        found = [(str(component['name']), _about(component)) for component in self._components if _kind_of(component) == 'COMMAND']
        return [commands.described(name, about, _timeout_of(about)) for name, about in found]

    def hooks(self) -> list[dict[str, Any]]:
        return [hooks.described(name, kind, about) for name, (kind, about) in self._hook_handlers().items()]

    def describe(self) -> dict[str, Any]:
        others = [_other_of(component) for component in self._components if _kind_of(component) not in _KNOWN]
        others += [{'type': 'LLM_PROVIDER', 'name': str(provider.get('name', '')), 'of': ''} for provider in _providers_of(self._plugin)]
        model = type(self._plugin).get_config_model()
        schema = None if model is None else _plain(model.model_json_schema())
        offers = {'tools': self.tools(), 'commands': self.commands(), 'hooks': self.hooks(), 'others': others}
        return {**offers, 'configSchema': schema, **scan(self._code)}

    async def call(self, name: str, arguments: dict[str, Any], caller: dict[str, Any]) -> dict[str, Any]:
        if name.startswith(hooks.BEGINNING):
            return await self._hooked(name[len(hooks.BEGINNING) :], arguments, caller)
        is_command = name.startswith(commands.BEGINNING)
        kind, own_name = ('COMMAND', name[len(commands.BEGINNING) :]) if is_command else ('TOOL', name)
        component = next((each for each in self._components if _kind_of(each) == kind and each.get('name') == own_name), None)
        if component is None:
            raise RequestFailed(-32602, f'the plugin has no {kind.lower()} {own_name}')
        call = Call(caller.get('stream_id', ''), caller.get('user_id', ''))
        if is_command:
            known = {'plugin_config': self._plugin.get_plugin_config_data()}
            caller = {**caller, **known, **commands.arguments_of(_about(component), str(arguments.get('text', '')), call)}
            arguments = {}
        token = current.set(call)
        try:
            return {'value': _plain(await apart(self._run(component, {**arguments}, caller))), 'sent': call.sent}
        # Code of a stranger may raise anything, also to end the process.
        except (Exception, SystemExit) as problem:
            logging.exception('the tool %s failed', name)
            return {'failed': text_of(problem), 'sent': call.sent}
        finally:
            call.over = True
            current.reset(token)

    async def _hooked(self, point: str, arguments: dict[str, Any], caller: dict[str, Any]) -> dict[str, Any]:
        known = self._hook_handlers()
        found = [(*known[name], self._method_of(known[name][1])) for name in arguments['handlers'] if name in known]
        handlers = [(kind, about, handler) for kind, about, handler in found if handler is not None]
        call = Call(caller.get('stream_id', ''), caller.get('user_id', ''))
        token = current.set(call)
        try:
            return {'value': _plain(await hooks.run(point, handlers, arguments['value'], caller, call)), 'sent': call.sent}
        finally:
            call.over = True
            current.reset(token)

    def _hook_handlers(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """By their names here, with their kinds; without those of the events of the process."""
        found = {}
        for component in self._components:
            kind, about = _kind_of(component), _about(component)
            if kind == 'HOOK_HANDLER' or (kind == 'EVENT_HANDLER' and not _is_of_process(about)):
                found[f'{"hook" if kind == "HOOK_HANDLER" else "event"}.{component.get("name", "")}'] = (kind, about)
        return found

    def _method_of(self, about: dict[str, Any]) -> Callable[..., Any] | None:
        method = getattr(self._plugin, str(about.get('handler_name', '')), None)
        return method if callable(method) else None

    def _handlers(self) -> list[tuple[dict[str, Any], Callable[..., Any]]]:
        found = [_about(component) for component in self._components if _kind_of(component) == 'EVENT_HANDLER']
        handlers = [(about, self._method_of(about)) for about in found]
        return [(about, handler) for about, handler in handlers if handler is not None]

    async def _run(self, component: dict[str, Any], arguments: dict[str, Any], caller: dict[str, Any]) -> Any:
        handler_name = str(_about(component).get('handler_name') or component['name'])
        handler = getattr(self._plugin, handler_name, None)
        if handler is None:
            return await self._plugin.invoke_component(str(component['name']), **{**arguments, **caller})
        return await _await(handler(**_accepted(handler, arguments, caller)))


def _import_entry(code: str) -> Any:
    """The module is a package too, so that it may import its neighbours in both ways."""
    sys.path.insert(1, code)
    spec = importlib.util.spec_from_file_location(_MODULE, os.path.join(code, 'plugin.py'), submodule_search_locations=[code])
    if spec is None or spec.loader is None:
        raise ImportError('plugin.py cannot be imported')
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    spec.loader.exec_module(module)
    if not callable(getattr(module, 'create_plugin', None)):
        raise ImportError('plugin.py has no function create_plugin()')
    return module


def _merged(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    merged = {**defaults, **given}
    for name, value in given.items():
        if isinstance(value, dict) and isinstance(defaults.get(name), dict):
            merged[name] = _merged(defaults[name], value)
    return merged


def _accepted(handler: Callable[..., Any], arguments: dict[str, Any], caller: dict[str, Any]) -> dict[str, Any]:
    """The arguments, and what the handler takes of the values that the host knows, which the model cannot replace."""
    parameters = inspect.signature(handler).parameters
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return {**arguments, **{name: value for name, value in caller.items() if takes_all or name in parameters}}


def _kind_of(component: dict[str, Any]) -> str:
    return str(component.get('type', '')).upper()


def _is_of_process(about: dict[str, Any]) -> bool:
    return hooks.name_of(about) in (events.START, events.STOP)


def _other_of(component: dict[str, Any]) -> dict[str, str]:
    return {'type': _kind_of(component), 'name': str(component.get('name', '')), 'of': ''}


def _tool_of(component: dict[str, Any]) -> dict[str, Any]:
    about = _about(component)
    brief = str(about.get('brief_description') or about.get('description') or component['name'])
    detailed = str(about.get('detailed_description') or '')
    schema = about.get('parameters_schema') or _schema_of(str(component['name']), about)
    return {
        'name': str(component['name']),
        'description': f'{brief}\n\n{detailed}'.strip(),
        'brief': brief,
        'parameters': _plain(schema) if isinstance(schema, dict) and schema else {'type': 'object', 'properties': {}},
        'timeoutMs': _timeout_of(about),
    }


def _about(component: dict[str, Any]) -> dict[str, Any]:
    about = component.get('metadata')
    return about if isinstance(about, dict) else {}


def _timeout_of(about: dict[str, Any]) -> float:
    timeout = commands.option_of(about, 'timeout_ms')
    return timeout if isinstance(timeout, (int, float)) and timeout > 0 else _TIMEOUT_MS


def _schema_of(name: str, about: dict[str, Any]) -> Any:
    from maibot_sdk.types import ToolComponentInfo

    declared, raw = about.get('parameters'), about.get('parameters_raw')
    # Components that a plugin makes itself may have a schema where those of the SDK have a list.
    if isinstance(declared, dict):
        declared, raw = None, raw or declared
    return ToolComponentInfo(name=name, parameters=declared or [], parameters_raw=raw or {}).get_parameters_schema()


def _providers_of(plugin: Any) -> list[dict[str, Any]]:
    return list(plugin.get_llm_providers()) if hasattr(plugin, 'get_llm_providers') else []


async def _await(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _plain(value: Any) -> Any:
    """The value as JSON can hold it. What JSON does not know becomes a text."""
    return plain(value, str, lambda number, _: number)
