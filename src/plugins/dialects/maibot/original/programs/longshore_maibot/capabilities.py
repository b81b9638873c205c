"""What a plugin may ask of its host. Everything else is refused by its name."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Callable

from longshore_maibot import messages, models, sending
from longshore_maibot.refused import CapabilityRefused

_Answer = Callable[['dict[str, Any]'], Awaitable['dict[str, Any]']]

# The parts of `ctx` by which plugins ask.
PARTS = frozenset(
    [
        'api',
        'chat',
        'component',
        'config',
        'db',
        'emoji',
        'frequency',
        'gateway',
        'knowledge',
        'llm',
        'maisaka',
        'market',
        'message',
        'person',
        'render',
        'send',
        'statistics',
        'tool',
        'webui',
    ]
)
_OTHERWISE = 'it belongs to a bot of MaiBot, and there is none'
_INSTEAD = {
    'api': 'plugins cannot call each other',
    'chat': 'a tool is called in one conversation, whose id is stream_id',
    'component': 'an operator decides which plugins and tools there are (longshore plugins, the file of the agent)',
    'database': 'keep data in files below ctx.paths.data_dir',
    'db': 'keep data in files below ctx.paths.data_dir',
    'knowledge': 'keep data in files below ctx.paths.data_dir',
    'llm': 'only llm.generate, llm.generate_with_tools and llm.get_available_models are offered',
    'person': 'a tool is given user_id; keep what it has to remember in files below ctx.paths.data_dir',
    'render': 'make an image with a package, such as pillow, and send it with ctx.send.image',
    'send': 'send texts, images, voice and video',
}


class Capabilities:
    def __init__(self, plugin_id: str, settings: dict[str, Any], config: Callable[[], dict[str, Any]]) -> None:
        self._plugin_id = plugin_id
        self._settings = settings
        """What the operator has set."""
        self._config = config

    async def rpc_call(self, method: str, plugin_id: str = '', payload: dict[str, Any] | None = None, timeout_ms: int | None = None) -> Any:
        """The one function by which the SDK reaches its host."""
        given = payload or {}
        name, args = str(given.get('capability', '')), given.get('args') or {}
        if method != 'cap.call':
            raise CapabilityRefused(f'{method} is not supported in Longshore')
        own = _OWN.get(name)
        if own is not None:
            return own(self, args)
        answer = _ANSWERS.get(name)
        if answer is None:
            raise CapabilityRefused(f'{name} is not supported in Longshore: {refusal_of(name)}')
        return await answer(args)

    def _get(self, args: dict[str, Any]) -> dict[str, Any]:
        """A setting of the bot. There is no bot: an operator may set it in the configuration of the plugin."""
        value: Any = self._settings
        for part in str(args.get('key', '')).split('.'):
            value = value.get(part) if isinstance(value, dict) else None
        return {'success': True, 'value': args.get('default') if value is None else value}

    def _get_plugin(self, args: dict[str, Any]) -> dict[str, Any]:
        self._refuse_others('config.get_plugin', args)
        return {'success': True, 'value': self._config()}

    def _info(self, args: dict[str, Any]) -> dict[str, Any]:
        self._refuse_others('component.get_plugin_info', args)
        return {'success': True, 'plugin': self._about()}

    def _all(self, args: dict[str, Any]) -> dict[str, Any]:
        return {'success': True, 'plugins': {self._plugin_id: self._about()}}

    def _names(self, args: dict[str, Any]) -> dict[str, Any]:
        return {'success': True, 'plugins': [self._plugin_id]}

    def _about(self) -> dict[str, Any]:
        return {'name': self._plugin_id, 'plugin_id': self._plugin_id, 'enabled': True, 'loaded': True}

    def _refuse_others(self, what: str, args: dict[str, Any]) -> None:
        name = args.get('plugin_name')
        if name not in (None, '', self._plugin_id):
            raise CapabilityRefused(f'{what}: {name} is another plugin, of which this one sees nothing')


_OWN: dict[str, Callable[[Capabilities, dict[str, Any]], dict[str, Any]]] = {
    'config.get': Capabilities._get,
    'config.get_plugin': Capabilities._get_plugin,
    'config.get_all': Capabilities._get_plugin,
    'component.get_plugin_info': Capabilities._info,
    'component.get_all_plugins': Capabilities._all,
    'component.list_loaded_plugins': Capabilities._names,
    'component.list_registered_plugins': Capabilities._names,
}
_ANSWERS: dict[str, _Answer] = {
    'send.text': sending.text,
    'send.image': sending.image,
    'send.emoji': sending.emoji,
    'send.hybrid': sending.hybrid,
    'send.forward': sending.forward,
    'send.custom': sending.custom,
    'llm.generate': models.generate,
    'llm.generate_with_tools': models.generate_with_tools,
    'llm.get_available_models': models.available_models,
    'message.get_recent': messages.recent,
    'message.get_by_id': messages.by_id,
    'message.get_by_time': messages.by_time,
    'message.get_by_time_in_chat': messages.by_time,
    'message.count_new': messages.count_new,
    'message.build_readable': messages.readable,
    'chat.get_all_streams': messages.all_streams,
    'chat.get_private_streams': messages.all_streams,
    'chat.get_group_streams': messages.no_streams,
    'chat.get_stream_by_user_id': messages.stream_of_user,
    'chat.get_stream_by_group_id': messages.no_stream,
}


def refusal_of(name: str) -> str | None:
    """Why a capability is refused, with what to do instead; None for one that is offered."""
    if name in _ANSWERS or name in _OWN:
        return None
    return _INSTEAD.get(name.split('.', maxsplit=1)[0], _OTHERWISE)
