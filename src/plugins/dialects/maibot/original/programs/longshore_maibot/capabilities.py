"""What a plugin may ask of its host. Everything else is refused by its name."""

from __future__ import annotations

from typing import Any, Callable

from longshore_host.calls import current, image_of

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
_OFFERED = 'send.text, send.image, send.hybrid and config are offered'
_INSTEAD = {
    'llm': 'return what a model has to know, and the agent that called the tool goes on with it',
    'database': 'keep data in files below ctx.paths.data_dir',
    'db': 'keep data in files below ctx.paths.data_dir',
    'api': 'plugins cannot call each other',
    'message': 'a tool gets what it needs as its arguments',
    'chat': 'a tool is called in one conversation, whose id is stream_id',
    'send': 'send text and images',
}


class CapabilityRefused(RuntimeError):
    pass


class Capabilities:
    def __init__(self, plugin_id: str, config: Callable[[], dict[str, Any]]) -> None:
        self._plugin_id = plugin_id
        self._config = config

    async def rpc_call(self, method: str, plugin_id: str = '', payload: dict[str, Any] | None = None, timeout_ms: int | None = None) -> Any:
        """The one function by which the SDK reaches its host."""
        given = payload or {}
        name, args = str(given.get('capability', '')), given.get('args') or {}
        if method != 'cap.call':
            raise CapabilityRefused(f'{method} is not supported in Longshore')
        answer = _ANSWERS.get(name)
        if answer is None:
            raise CapabilityRefused(f'{name} is not supported in Longshore: {refusal_of(name)}')
        return answer(self, args)

    def _text(self, args: dict[str, Any]) -> dict[str, Any]:
        return _send(args, [{'type': 'text', 'text': str(args.get('text', ''))}])

    def _image(self, args: dict[str, Any]) -> dict[str, Any]:
        return _send(args, [_image_of(args.get('image_base64', ''))])

    def _hybrid(self, args: dict[str, Any]) -> dict[str, Any]:
        parts = [_part_of(segment) for segment in args.get('segments') or []]
        return _send(args, parts)

    def _get(self, args: dict[str, Any]) -> dict[str, Any]:
        """Settings of the bot. There is no bot, so none of them is set."""
        return {'success': True, 'value': args.get('default')}

    def _get_plugin(self, args: dict[str, Any]) -> dict[str, Any]:
        name = args.get('plugin_name')
        if name not in (None, '', self._plugin_id):
            raise CapabilityRefused(f'config.get_plugin: the configuration of {name} is not that of this plugin')
        return {'success': True, 'value': self._config()}


_ANSWERS: dict[str, Callable[[Capabilities, dict[str, Any]], dict[str, Any]]] = {
    'send.text': Capabilities._text,
    'send.image': Capabilities._image,
    'send.hybrid': Capabilities._hybrid,
    'config.get': Capabilities._get,
    'config.get_plugin': Capabilities._get_plugin,
    'config.get_all': Capabilities._get_plugin,
}


def refusal_of(name: str) -> str | None:
    """Why a capability is refused, with what to do instead; None for one that is offered."""
    return None if name in _ANSWERS else _INSTEAD.get(name.split('.', maxsplit=1)[0], _OFFERED)


def _send(args: dict[str, Any], parts: list[dict[str, str]]) -> dict[str, Any]:
    call = current.get()
    if call is None or call.over:
        raise CapabilityRefused('a plugin can send to the user only during a call of one of its tools')
    stream_id = args.get('stream_id')
    if stream_id not in (None, '', call.conversation_id):
        raise CapabilityRefused(f'the stream {stream_id} is not the one of this call')
    call.sent += parts
    return {'success': True, 'sent': True}


def _part_of(segment: Any) -> dict[str, str]:
    kind = segment.get('type') if isinstance(segment, dict) else None
    if kind not in ('text', 'image'):
        raise CapabilityRefused(f'send.hybrid: segments of the type {kind} are not supported; text and image are')
    content = str(segment.get('content', segment.get('data', '')))
    return {'type': 'text', 'text': content} if kind == 'text' else _image_of(content)


def _image_of(data: Any) -> dict[str, str]:
    try:
        return image_of(str(data))
    except ValueError as problem:
        raise CapabilityRefused(str(problem)) from problem
