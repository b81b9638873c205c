"""What the revision 2026-07-28 of the Model Context Protocol has in place of the handshake, of requests of servers and of subscriptions; for
mcp_process.py."""

from __future__ import annotations

import threading
import time

from mcp_words import names_of, tell_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mcp_request import Request

VERSION = '2026-07-28'
_PREFIX = 'io.modelcontextprotocol/'
_UNSUPPORTED_VERSION = -32022
_INVALID_PARAMS = -32602
# The requests that may end with what the server wants to know first.
_IN_ROUNDS = ('tools/call', 'prompts/get', 'resources/read')
_MOST_ROUNDS = 50
_MOST_ASKS = 20
_LONGEST_STATE = 256 * 1024
_MOST_WATCHED = 200
_LISTEN = 'longshore-listen'
_LISTEN_PAUSES = (1.0, 30.0)
_STEADY = 60.0


def envelope(capabilities: dict[str, Any], client: dict[str, Any], logs: bool) -> dict[str, Any]:
    """What each request says of its client."""
    about = {'protocolVersion': VERSION, 'clientInfo': client, 'clientCapabilities': capabilities, **({'logLevel': 'info'} if logs else {})}
    return {_PREFIX + name: value for name, value in about.items()}


class StartAgain(RuntimeError):
    """A server is to be started again, and then asked what it speaks for `probe` seconds; None: greeted at once."""

    def __init__(self, why: str, probe: float | None) -> None:
        super().__init__(why)
        self.probe = probe


def speaks(answer: dict[str, Any] | None) -> bool:
    """Whether a server that was asked what it speaks speaks this revision. Raises when it speaks none that we do, or has ended, as some of earlier revisions do
    when they are asked."""
    if answer is None:
        return False
    if answer['type'] == 'gone':
        raise StartAgain(answer['why'], None)
    result = answer.get('result') if answer['type'] == 'answer' else None
    if isinstance(result, dict) and isinstance(result.get('supportedVersions'), list) and isinstance(result.get('capabilities'), dict):
        return VERSION in result['supportedVersions']
    data = answer.get('data') if answer.get('code') == _UNSUPPORTED_VERSION else None
    supported = data.get('supported') if isinstance(data, dict) else None
    if isinstance(supported, list) and supported and all(isinstance(each, str) and each > VERSION for each in supported):
        raise RuntimeError(f'it speaks only later revisions of the protocol: {", ".join(supported)[:200]}')
    return False


def facts_of(result: dict[str, Any]) -> tuple[Any, list[str]]:
    """Its name and version, and what it offers."""
    meta = result.get('_meta')
    return (meta.get(_PREFIX + 'serverInfo') if isinstance(meta, dict) else None), [name for name in names_of(result['capabilities']) if name != 'tasks']


def asked_in(request: Request, result: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], str | None]:
    """What a server wants to know before it goes on, by its own names for that, and the state that it gets back. Raises ValueError with the reason when it
    may not ask so."""
    asks, state = result.get('inputRequests', {}), result.get('requestState')
    if request.method not in _IN_ROUNDS:
        raise ValueError(f'a server may not ask for input to {request.method}')
    if not isinstance(asks, dict) or len(asks) > _MOST_ASKS or not all(isinstance(ask, dict) for ask in asks.values()):
        raise ValueError(f'it asks for something that is no list of {_MOST_ASKS} requests at most')
    if state is not None and (not isinstance(state, str) or len(state) > _LONGEST_STATE):
        raise ValueError(f'the state of its request is no text of {_LONGEST_STATE} characters at most')
    if request.rounds >= _MOST_ROUNDS:
        raise ValueError(f'it has asked for input {_MOST_ROUNDS} times during this call')
    return asks, state


class Listening:
    """Notifications of changes: a server sends only those that it was asked for, as long as one request is open."""

    def __init__(self, capabilities: dict[str, Any], send: Callable[[dict[str, Any]], None], meta: dict[str, Any]) -> None:
        kinds = ('tools', 'prompts', 'resources')
        offered = {kind: capabilities.get(kind) for kind in kinds}
        self._lists = {f'{kind}ListChanged': True for kind, offer in offered.items() if isinstance(offer, dict) and offer.get('listChanged') is True}
        self._send = send
        self._meta = meta
        self._uris: list[str] = []
        self._waiting: list[tuple[str, Request]] = []
        self._asked: list[tuple[str, Request]] = []
        """Those that the newest stream is the first to ask for."""
        self._one_by_one = False
        """The server has refused several at the same time, and maybe because of one of them."""
        self._number = 0
        self._begun = 0.0
        self._pause = _LISTEN_PAUSES[0]
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            if self._lists:
                self._open()

    def take(self, request: Request) -> None:
        """A request of an earlier revision: to subscribe to a resource, or to end that."""
        uri = str(request.params.get('uri'))
        with self._lock:
            others = [each for each in self._uris if each != uri]
            if request.method == 'resources/unsubscribe':
                self._uris = others
                request.tell('answer', result={})
                return
            if len(others) + len(self._waiting) >= _MOST_WATCHED:
                request.tell('error', code=_INVALID_PARAMS, message=f'{_MOST_WATCHED} resources are watched in this sandbox, which is the limit')
                return
            self._waiting.append((uri, request))
            self._open()

    def hear(self, message: dict[str, Any]) -> bool:
        """Whether a message is about these requests."""
        params = message.get('params')
        params = params if isinstance(params, dict) else {}
        method, meta = message.get('method'), params.get('_meta')
        if method == 'notifications/subscriptions/acknowledged':
            of = meta.get(_PREFIX + 'subscriptionId') if isinstance(meta, dict) else None
            self._taken(of, params.get('notifications'))
            return True
        of = params.get('requestId') if method == 'notifications/cancelled' else message.get('id') if method is None else None
        if not isinstance(of, str) or not of.startswith(_LISTEN):
            return False
        self._ended(of, message.get('error'))
        return True

    def _open(self) -> None:
        former = f'{_LISTEN}-{self._number}' if self._number else None
        self._number += 1
        self._begun = time.monotonic()
        self._asked = self._waiting[: 1 if self._one_by_one else None]
        uris = [*self._uris, *{uri: None for uri, _ in self._asked if uri not in self._uris}]
        wanted = {**self._lists, **({'resourceSubscriptions': uris} if uris else {})}
        params = {'notifications': wanted, '_meta': self._meta}
        self._send({'id': f'{_LISTEN}-{self._number}', 'method': 'subscriptions/listen', 'params': params})
        if former is not None:
            self._send({'method': 'notifications/cancelled', 'params': {'requestId': former}})

    def _taken(self, of: object, taken: object) -> None:
        with self._lock:
            if of != f'{_LISTEN}-{self._number}':
                return
            told = taken.get('resourceSubscriptions') if isinstance(taken, dict) else None
            for uri, request in self._settled():
                if isinstance(told, list) and uri in told:
                    if uri not in self._uris:
                        self._uris.append(uri)
                    request.tell('answer', result={})
                else:
                    request.tell('error', code=_INVALID_PARAMS, message='the server sends no notifications about this resource')
            if self._waiting:
                self._open()

    def _settled(self) -> list[tuple[str, Request]]:
        asked = self._asked
        self._asked = []
        self._waiting = self._waiting[len(asked) :]
        self._one_by_one = self._one_by_one and bool(self._waiting)
        return asked

    def _ended(self, of: str, error: object) -> None:
        with self._lock:
            if of != f'{_LISTEN}-{self._number}':
                return
            why = str(error.get('message')) if isinstance(error, dict) else 'the server sends no notifications any more'
            if isinstance(error, dict) and len(self._asked) > 1:
                self._one_by_one = True
                self._open()
                return
            settled = self._settled()
            for _, request in settled:
                request.tell('error', code=_INVALID_PARAMS, message=why)
            if isinstance(error, dict):
                # One that refuses what it has not refused before would do so again.
                if settled and (self._waiting or self._uris or self._lists):
                    self._open()
                return
            self._pause = _LISTEN_PAUSES[0] if time.monotonic() - self._begun > _STEADY else min(self._pause * 2, _LISTEN_PAUSES[1])
            timer = threading.Timer(self._pause, self._again, [self._number])
            timer.daemon = True
            timer.start()

    def _again(self, number: int) -> None:
        with self._lock:
            if number == self._number:
                self._open()
        tell_change('the server may have changed while it did not tell')
