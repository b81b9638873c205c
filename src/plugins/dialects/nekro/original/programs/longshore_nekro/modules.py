"""The modules that plugins import of Nekro Agent, by the paths that plugins use. They are made of what is here; all other names of them are refused when
they are used."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from longshore_nekro import models, parts, timers
from longshore_nekro.command_types import CommandPermission
from longshore_nekro.config_base import ConfigBase, ExtraField
from longshore_nekro.context import AgentCtx, Messages, MessageService, local_file
from longshore_nekro.plugin import Inert, NekroPlugin, SandboxMethod, SandboxMethodType, WebhookMethod, dynamic_import_pkg, environment
from longshore_nekro.refused import refused
from longshore_nekro.store import PluginStore
from longshore_nekro.webhooks import WebhookRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLUGIN = {
    'ConfigBase': ConfigBase,
    'ExtraField': ExtraField,
    'NekroPlugin': NekroPlugin,
    'PluginStore': PluginStore,
    'SandboxMethod': SandboxMethod,
    'SandboxMethodType': SandboxMethodType,
    'WebhookMethod': WebhookMethod,
    'dynamic_import_pkg': dynamic_import_pkg,
}
_COMMANDS = {
    'CommandPermission': CommandPermission,
    **{
        name: getattr(parts, name)
        for name in ('Arg', 'CmdCtl', 'CommandExecutionContext', 'CommandOutputSegment', 'CommandOutputSegmentType', 'CommandResponse')
    },
}
_SETTINGS = parts.Settings()
_LOGGER = {'logger': parts.logger, 'get_sub_logger': parts.get_sub_logger}
_MESSAGES = {name: getattr(Messages, name) for name in ('send_text', 'send_image', 'send_file')}
_SERVICE = {'message_service': MessageService}
_TIMERS = {name: getattr(timers, name) for name in ('TimerTask', 'clear_timers', 'get_timers', 'set_temp_timer', 'set_timer')}
_TOOLS = {name: getattr(parts, name) for name in ('calculate_text_similarity', 'download_file', 'limited_text_output')}
_OFFERED: dict[str, dict[str, Any]] = {
    'magic': {'Magic': parts.Magic, 'from_buffer': parts.magic_from_buffer, 'from_file': parts.magic_from_file},
    'nekro_agent': {},
    'nekro_agent.api': {},
    'nekro_agent.api.core': {**_LOGGER, 'config': _SETTINGS},
    'nekro_agent.api.i18n': {'i18n_text': parts.i18n_text},
    'nekro_agent.api.message': {**_MESSAGES, **_SERVICE, 'download_file': parts.download_file},
    'nekro_agent.api.plugin': {**_PLUGIN, **_COMMANDS},
    'nekro_agent.api.schemas': {'AgentCtx': AgentCtx, 'WebhookRequest': WebhookRequest},
    'nekro_agent.api.signal': {'MsgSignal': parts.MsgSignal},
    'nekro_agent.api.timer': _TIMERS,
    'nekro_agent.core': {**_LOGGER, 'config': _SETTINGS},
    'nekro_agent.core.config': {'config': _SETTINGS, 'ModelConfigGroup': models.ModelConfigGroup},
    'nekro_agent.core.core_utils': {'ConfigBase': ConfigBase, 'ExtraField': ExtraField},
    'nekro_agent.core.logger': _LOGGER,
    'nekro_agent.core.os_env': {'OsEnv': parts.OsEnv},
    'nekro_agent.models.db_chat_channel': {'DBChatChannel': parts.DBChatChannel},
    'nekro_agent.schemas.agent_ctx': {'AgentCtx': AgentCtx, 'WebhookRequest': WebhookRequest},
    'nekro_agent.schemas.chat_message': {'ChatType': parts.ChatType},
    'nekro_agent.schemas.i18n': {'i18n_text': parts.i18n_text},
    'nekro_agent.schemas.signal': {'MsgSignal': parts.MsgSignal},
    'nekro_agent.services.agent.creator': {'ContentSegment': models.ContentSegment, 'OpenAIChatMessage': models.OpenAIChatMessage},
    'nekro_agent.services.agent.openai': {'OpenAIResponse': models.OpenAIResponse, 'gen_openai_chat_response': models.gen_openai_chat_response},
    'nekro_agent.services.command.base': _COMMANDS,
    'nekro_agent.services.command.ctl': _COMMANDS,
    'nekro_agent.services.command.schemas': _COMMANDS,
    'nekro_agent.services.message_service': _SERVICE,
    'nekro_agent.services.plugin.base': _PLUGIN,
    'nekro_agent.services.plugin.packages': {'dynamic_import_pkg': dynamic_import_pkg},
    'nekro_agent.services.plugin.schema': _PLUGIN,
    'nekro_agent.tools.common_util': _TOOLS,
    'nekro_agent.tools.path_convertor': {'convert_to_host_path': local_file, 'is_url_path': parts.is_url_path},
}
# Packages that only a host of Nekro Agent has. A plugin may bring its own client of Qdrant.
ABSENT = ('nekro_agent', 'nonebot', 'magic', 'qdrant_client')


def is_offered(name: str) -> bool:
    """Whether a name with its path exists here, such as `nekro_agent.api.plugin.NekroPlugin`."""
    module, _, last = name.rpartition('.')
    return name in _OFFERED or last in _OFFERED.get(module, {}) or any(known.startswith(f'{name}.') for known in _OFFERED)


def offer_modules() -> None:
    # After the others: what is installed counts.
    sys.meta_path.append(_Finder())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.split('.', maxsplit=1)[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(_OFFERED.get(module.__name__, {}))


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith('__'):
            raise AttributeError(name)
        if name.startswith('on_') or self.__name__ == 'nonebot.params':
            # Registers a function for events of a chat platform, or names what such a function gets. There are no events.
            return lambda *args, **options: Inert(environment.others, 'EVENT', args, options)
        full = f'{self.__name__}.{name}'
        return importlib.import_module(full) if is_offered(full) else refused(full)
