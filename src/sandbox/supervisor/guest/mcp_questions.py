"""What a server of the Model Context Protocol asks a person or the model during requests, in both generations of the protocol; for mcp_process.py."""

from __future__ import annotations

import json
import os
import threading

import mcp_newer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from mcp_request import Request

_INVALID_REQUEST = -32600
_INVALID_PARAMS = -32602
_METHOD_NOT_FOUND = -32601
_ELICITATION, _SAMPLING = 'elicitation/create', 'sampling/createMessage'
# What a server may ask of its worker, and its largest size as JSON. The worker accepts less, and tells the server so.
_LARGEST = {_ELICITATION: 256 * 1024, _SAMPLING: 900_000}
# For the reasons of a worker that does not answer. All others say that the question is not valid.
_CODES = {'REFUSED': -1, 'TOOL_FAILED': -32603}
# Before a request that only brings back the state of the server.
_PAUSE = 0.25


class Questions:
    def __init__(self, may_sample: bool, send: Callable[[dict[str, Any]], None], again: Callable[[Request], object]) -> None:
        self._may_sample = may_sample
        self._send = send
        self._again = again
        self._count = 0
        self._lock = threading.Lock()
        # By number: the request, and the id of the server's request or the name that the server gives to what it asks.
        self._open: dict[int, tuple[Request, Any]] = {}

    def serve(self, message: dict[str, Any], requests: Sequence[Request]) -> None:
        """Answers a request of a server of an earlier revision, which may send only few."""
        method, params = message['method'], message.get('params')
        if self._may_ask(method):
            # A program does not say during which request it asks. All of them are of the same sandbox; the newest counts.
            request = next((each for each in reversed(requests) if each.asks), None)
            if request is None:
                self._refuse(message, _INVALID_REQUEST, 'no call is in progress in which it could be asked')
            elif _is_too_large(method, params):
                self._refuse(message, _INVALID_PARAMS, 'the question is too large, or not an object')
            else:
                self._ask(request, message['id'], method, params)
        elif method == 'ping':
            self._send({'id': message['id'], 'result': {}})
        elif method == 'roots/list':
            self._send({'id': message['id'], 'result': _roots()})
        else:
            self._refuse(message, _METHOD_NOT_FOUND, f'{method} is not offered')

    def begin_round(self, request: Request, result: dict[str, Any]) -> None:
        """A server of the revision 2026-07-28 has ended a request to ask; once it has all answers, it gets the request again."""
        try:
            asks, state = mcp_newer.asked_in(request, result)
            questions = {name: ask for name, ask in asks.items() if ask.get('method') != 'roots/list'}
            for ask in questions.values():
                if not self._may_ask(ask.get('method')):
                    raise ValueError(f'{str(ask.get("method"))[:100]} is not offered to it')
                if _is_too_large(ask['method'], ask.get('params')):
                    raise ValueError('what it asks is too large, or not an object')
            if questions and not request.asks:
                raise ValueError('no call is in progress in which it could be asked')
        except ValueError as problem:
            request.tell('error', code=_INVALID_PARAMS, message=f'it asks for something during this call and does not get it: {problem}')
            return
        request.rounds += 1
        request.answers = {name: _roots() for name in asks if name not in questions}
        request.missing = len(questions)
        request.given = {**({'inputResponses': request.answers} if asks else {}), **({} if state is None else {'requestState': state})}
        if not questions:
            timer = threading.Timer(0 if asks else _PAUSE, self._again, [request])
            timer.daemon = True
            timer.start()
        for name, ask in questions.items():
            self._ask(request, name, ask['method'], ask['params'])

    def answer(self, request: Request, number: int, result: dict[str, Any]) -> None:
        """Passes on an answer: its `ok`, or why there is none."""
        with self._lock:
            asked = self._open.pop(number, None)
        if asked is None or asked[0] is not request:
            return
        place = asked[1]
        error = result.get('error')
        refused = (_CODES.get(str(error.get('code')), _INVALID_PARAMS), str(error.get('message'))) if isinstance(error, dict) else None
        if request.rounds:
            self._take(request, place, result.get('ok'), refused)
        elif refused is not None:
            self._send({'id': place, 'error': {'code': refused[0], 'message': refused[1]}})
        else:
            self._send({'id': place, 'result': result.get('ok')})

    def forget(self, request: Request) -> None:
        with self._lock:
            self._open = {number: asked for number, asked in self._open.items() if asked[0] is not request}

    def _ask(self, request: Request, place: Any, method: str, params: Any) -> None:
        with self._lock:
            self._count += 1
            number = self._count
            self._open[number] = (request, place)
        request.tell('ask', number=number, method=method, params=params)

    def _take(self, request: Request, name: str, answer: Any, refused: tuple[int, str] | None) -> None:
        if refused is not None:
            self.forget(request)
            request.tell('error', code=refused[0], message=f'it asks for something during this call and does not get it: {refused[1]}')
            return
        with self._lock:
            request.answers[name] = answer
            request.missing -= 1
            is_whole = request.missing == 0
        if is_whole:
            self._again(request)

    def _may_ask(self, method: object) -> bool:
        return method == _ELICITATION or (method == _SAMPLING and self._may_sample)

    def _refuse(self, message: dict[str, Any], code: int, why: str) -> None:
        self._send({'id': message['id'], 'error': {'code': code, 'message': why}})


def _is_too_large(method: str, params: object) -> bool:
    return not isinstance(params, dict) or len(json.dumps(params)) > _LARGEST[method]


def _roots() -> dict[str, Any]:
    # It takes 1 MB, and few servers ask for roots.
    from urllib.parse import quote

    return {'roots': [{'uri': 'file://' + quote(os.path.expanduser('~')), 'name': 'home of the sandbox'}]}
