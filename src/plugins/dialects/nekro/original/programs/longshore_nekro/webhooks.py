"""Requests of outside systems to functions of the plugin."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Callable

from longshore_nekro.context import AgentCtx

if TYPE_CHECKING:
    from longshore_nekro.calling import Caller

WEBHOOK = 'webhook:'
# There is no conversation: what needs one says so, or has to be told its key.
_NOBODY: Caller = {'chat_key': '', 'user_id': '', 'agent_id': '', 'files': {}, 'directory': '', 'place': ''}


class Headers(dict[str, str]):
    """Their names are in lower case, and found in any case."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__({name.lower(): value for name, value in given.items()})

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.lower(), default)


class WebhookRequest:
    """`body` is an object of JSON; of any other content it has `raw_content` as text. `raw_body` has the bytes as they came, which signatures are of."""

    def __init__(self, headers: dict[str, str], body: dict[str, Any], raw_body: bytes = b'') -> None:
        self.headers = Headers(headers)
        self.body = body
        self.raw_body = raw_body


def answer_request(func: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    content = base64.b64decode(arguments['body'])
    context = AgentCtx(dict(_NOBODY))
    context.webhook_request = WebhookRequest(arguments['headers'], _body_of(content), content)
    return func(context)


def _body_of(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
        if isinstance(body, dict):
            return body
    # A text that is not UTF-8, is no JSON, or is nested too deep.
    except (ValueError, RecursionError):
        pass
    return {'raw_content': content.decode('utf-8', 'replace')}
