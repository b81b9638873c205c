"""Rules of requests of outside systems to functions of a plugin that is written for Nekro Agent."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest

from longshore_host.stdio import RequestFailed
from longshore_nekro.loaded_plugin import LoadedPlugin
from longshore_nekro.plugin import NekroPlugin, environment
from longshore_nekro.refused import NotSupported

if TYPE_CHECKING:
    from longshore_nekro.context import AgentCtx
    from longshore_nekro.webhooks import WebhookRequest


def received(func: Any, content: bytes, headers: dict[str, str] | None = None, endpoint: str = 'ship') -> dict[str, Any]:
    environment.made.clear()
    plugin = NekroPlugin(name='Gate', module_name='gate', author='harbour')
    assert plugin.mount_webhook_method(endpoint='ship', name='A ship')(func) is func
    assert {key: (each.name, each.func) for key, each in plugin.webhook_methods.items()} == {'ship': ('A ship', func)}
    loaded = LoadedPlugin('gate', '.', {})
    loaded._plugin = plugin
    arguments = {'headers': headers or {}, 'body': base64.b64encode(content).decode()}
    return asyncio.run(loaded.call(f'webhook:{endpoint}', arguments, {}))


def bodies(content: bytes) -> WebhookRequest:
    seen: list[WebhookRequest] = []

    async def ship(_ctx: AgentCtx) -> None:
        seen.append(_ctx.webhook_request)

    assert received(ship, content, {'x-github-event': 'push'}) == {}
    return seen[0]


def test_an_object_of_json_is_the_body_and_headers_are_found_in_any_case() -> None:
    request = bodies(b'{"ship": "Aurora", "number": 1}')
    assert request.body == {'ship': 'Aurora', 'number': 1}
    assert request.raw_body == b'{"ship": "Aurora", "number": 1}'
    headers = request.headers
    assert (headers['X-GitHub-Event'], headers.get('X-GITHUB-EVENT'), headers.get('absent', 1)) == ('push', 'push', 1)
    assert ('X-Github-Event' in headers, 'absent' in headers, dict(headers)) == (True, False, {'x-github-event': 'push'})


@pytest.mark.parametrize(
    ('content', 'text'),
    [
        (b'[1]', '[1]'),
        (b'a=b', 'a=b'),
        (b'', ''),
        (b'{"a":', '{"a":'),
        (b'\xff\x00', '\ufffd\x00'),
        (b'[' * 100_000 + b']' * 100_000, '[' * 100_000 + ']' * 100_000),
        (b'{"a":' * 100_000 + b'1' + b'}' * 100_000, '{"a":' * 100_000 + '1' + '}' * 100_000),
    ],
)
def test_any_other_content_is_a_text(content: bytes, text: str) -> None:
    request = bodies(content)
    assert request.body == {'raw_content': text}
    assert request.raw_body == content


def test_a_function_that_is_not_asynchronous_works_and_one_that_fails_says_why() -> None:
    seen: list[str] = []

    def ship(ctx: AgentCtx) -> None:
        seen.append(ctx.chat_key)

    def ends(ctx: AgentCtx) -> None:
        raise SystemExit(3)

    assert (received(ship, b'{}'), seen) == ({}, [''])
    assert received(ends, b'{}') == {'failed': 'SystemExit: 3'}


def test_there_is_no_conversation_and_what_needs_one_says_so() -> None:
    async def ship(_ctx: AgentCtx) -> None:
        with pytest.raises(NotSupported, match=r'^send_text needs the chat_key of a conversation outside of a call$'):
            await _ctx.send_text('hi')
        with pytest.raises(NotSupported, match=r'^ctx\.fs\.shared_path works only during a call of a method$'):
            _ = _ctx.fs.shared_path

    assert received(ship, b'{}') == {}


def test_a_request_for_what_the_plugin_does_not_have_is_refused() -> None:
    with pytest.raises(RequestFailed, match=r"^the plugin has no webhook 'storm'$"):
        received(lambda ctx: None, b'{}', endpoint='storm')
