"""One process of a server of the Model Context Protocol, and its open requests; for mcp_server.py."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time

import mcp_newer
from mcp_input import Input
from mcp_questions import Questions
from mcp_request import Request
from mcp_words import log, names_of, small, tell_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

_VERSION = '2025-11-25'
_CLIENT = {'name': 'longshore', 'version': '0.1.0'}
_COMES_UP = 30.0
# A server of an earlier revision may be silent when it is asked what it speaks; then it is greeted.
PROBE = 1.0
_POLL = 0.05
_MAX_MESSAGE = 8 * 1024 * 1024
# Notifications and lines that are no messages, in a second.
_MAX_NOISE = 1_000
_MAX_LAST_WORDS = 500
_MAX_PROGRESS = 200
_MAX_INSTRUCTIONS = 10_000
_INTERNAL_ERROR = -32603
_MAY_SAMPLE = 'LONGSHORE_MCP_SAMPLING'


class ServerProcess:
    def __init__(self, program: list[str], again: Callable[[Request], object]) -> None:
        self.about: dict[str, Any] = {}
        self.offers: list[str] = []
        self.instructions = ''
        self.why = ''
        self.ended = threading.Event()
        self._open: dict[str, Request] = {}
        # Where it speaks the revision 2026-07-28.
        self._meta: dict[str, Any] | None = None
        self._listening: mcp_newer.Listening | None = None
        self._lock = threading.Lock()
        self._words = b''
        self._noise = (0.0, 0)
        self._may_sample = _MAY_SAMPLE in os.environ
        self._questions = Questions(self._may_sample, self._send, again)
        pipe = subprocess.PIPE
        env = {name: value for name, value in os.environ.items() if name != _MAY_SAMPLE}
        self._process = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, env=env)
        self._input = Input(self._process.stdin, lambda: self.stop('it does not read what it is sent'))  # type: ignore[arg-type]
        self._stdout: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        self._stderr: IO[bytes] = self._process.stderr  # type: ignore[assignment]
        self._listeners = [threading.Thread(target=work, daemon=True) for work in (self._hear_words, self._hear)]
        for listener in self._listeners:
            listener.start()

    def greet(self, probe: float | None) -> None:
        """Raises with the reason when the server cannot be used; StartAgain when it may be usable, or usable in the newer revision, with another probe."""
        capabilities: dict[str, Any] = {'elicitation': {'form': {}, 'url': {}}, 'roots': {}}
        if self._may_sample:
            capabilities['sampling'] = {}
        about = {'protocolVersion': _VERSION, 'capabilities': capabilities, 'clientInfo': _CLIENT}
        greeting = Request('longshore-greeting', 'initialize', about)
        discovery = Request('longshore-discover', 'server/discover', {'_meta': mcp_newer.envelope(capabilities, _CLIENT, False)})
        told: Any = None
        answer: Any = None
        if probe:
            self.ask(discovery)
            told = discovery.outcome(probe)
        is_newer = mcp_newer.speaks(told)
        if not is_newer:
            self.ask(greeting)
            limit = time.monotonic() + _COMES_UP
            while answer is None and time.monotonic() < limit:
                answer = greeting.outcome(_POLL)
                # A server that is slow to start answers both.
                if probe and told is None:
                    told = discovery.outcome(_POLL)
                    is_newer = mcp_newer.speaks(told)
        if is_newer and answer is not None and answer['type'] == 'answer':
            # What was greeted stays in the earlier revision.
            raise mcp_newer.StartAgain('it is slow to say what it speaks', _COMES_UP)
        if is_newer and not self.ended.is_set():
            self._begin_newer(told['result'], capabilities)
            return
        if answer is None:
            raise RuntimeError(f'it did not answer within {_COMES_UP:.0f} seconds')
        if answer['type'] != 'answer':
            raise RuntimeError(answer.get('why') or answer.get('message') or 'it did not accept the initialize request')
        if not isinstance(answer['result'], dict):
            raise RuntimeError('its answer to initialize is not an object')
        known, offers = answer['result'].get('serverInfo'), answer['result'].get('capabilities')
        self._note(known, names_of(offers) if isinstance(offers, dict) else [], answer['result'])
        self._send({'method': 'notifications/initialized'})

    def _begin_newer(self, result: dict[str, Any], capabilities: dict[str, Any]) -> None:
        offered = result['capabilities']
        self._meta = mcp_newer.envelope(capabilities, _CLIENT, 'logging' in offered)
        self._note(*mcp_newer.facts_of(result), result)
        self._listening = mcp_newer.Listening(offered, self._send, self._meta)
        self._listening.begin()

    def _note(self, known: object, offers: list[str], result: dict[str, Any]) -> None:
        words = result.get('instructions')
        self.about = known if isinstance(known, dict) else {}
        self.offers = offers
        self.instructions = words[:_MAX_INSTRUCTIONS] if isinstance(words, str) else ''

    def ask(self, request: Request) -> None:
        """Sends a request; one that was sent before gets the answers of its last round."""
        if request.over:
            return
        request.server = self
        if self._listening is not None and request.method in ('resources/subscribe', 'resources/unsubscribe'):
            self._listening.take(request)
            return
        request.sent_as = f'{request.id}#{request.rounds}' if request.rounds else request.id
        with self._lock:
            why = None
            if self.ended.is_set():
                why = self.why
            elif request.sent_as in self._open:
                why = f'a request {request.id} is running already'
            elif request.rounds and self._meta is None:
                why = 'it does not speak the revision of the protocol any more in which it has asked for input'
            else:
                self._open[request.sent_as] = request
        if why is not None:
            request.tell('gone' if request.rounds else 'failed', why=why)
            return
        meta = {**request.params.get('_meta', {}), **(self._meta or {})}
        if 'progressToken' in meta:
            meta['progressToken'] = request.sent_as
        params = {**request.params, **request.given, **({'_meta': meta} if meta else {})}
        self._send({'id': request.sent_as, 'method': request.method, 'params': params})

    def cancel(self, request: Request) -> None:
        with self._lock:
            under_way = self._open.pop(request.sent_as, None) is request
        self._questions.forget(request)
        request.over = True
        if under_way:
            self._send({'method': 'notifications/cancelled', 'params': {'requestId': request.sent_as, 'reason': 'the call was ended'}})
        # Who waits for the result of a task is its call.
        if under_way and request.method == 'tasks/result':
            self._send({'id': f'{request.id}-cancel', 'method': 'tasks/cancel', 'params': {'taskId': request.params.get('taskId')}})

    def answer(self, request: Request, number: int, result: dict[str, Any]) -> None:
        """Passes on the answer to a question that the server asked during this request: its `ok`, or why there is none."""
        self._questions.answer(request, number, result)

    def stop(self, why: str) -> None:
        self.why = self.why or why
        self._kill()

    def _send(self, message: dict[str, Any]) -> None:
        self._input.send(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')

    def _hear_words(self) -> None:
        while data := os.read(self._stderr.fileno(), 65536):
            self._words = (self._words + data)[-_MAX_LAST_WORDS:]
            with contextlib.suppress(OSError):
                os.write(2, data)

    def _hear(self) -> None:
        pending = bytearray()
        while data := os.read(self._stdout.fileno(), 65536):
            pending += data
            end = pending.rfind(b'\n') + 1
            if not end and len(pending) > _MAX_MESSAGE:
                self.stop('it sent a message that is too large')
                break
            try:
                for line in bytes(pending[:end]).splitlines():
                    self._take(line)
            except RecursionError:
                self.stop('it sent a message that is nested too deeply to be read')
                break
            del pending[:end]
        self._finish()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict) or 'method' in message:
            self._count_noise()
        if not isinstance(message, dict):
            return
        if self._listening is not None and self._listening.hear(message):
            return
        if 'method' not in message:
            self._settle(message)
        elif 'id' in message:
            # In the revision 2026-07-28, servers send no requests.
            if self._meta is None:
                with self._lock:
                    requests = list(self._open.values())
                self._questions.serve(message, requests)
        elif message['method'] == 'notifications/progress':
            self._pass_on(message.get('params'))
        elif message['method'] == 'notifications/message':
            log(message.get('params'))
        elif message['method'] == 'notifications/tools/list_changed':
            tell_change('the server says that its tools have changed')
        elif message['method'] == 'notifications/resources/updated':
            tell_change('resource')

    def _settle(self, message: dict[str, Any]) -> None:
        request_id = message.get('id')
        with self._lock:
            request = self._open.pop(request_id, None) if isinstance(request_id, str) else None
            if request is None:
                return
        self._questions.forget(request)
        error, result = message.get('error'), message.get('result')
        is_newer = self._meta is not None or request.method == 'server/discover'
        kind = result.pop('resultType', None) if is_newer and isinstance(result, dict) else None
        if isinstance(error, dict):
            request.tell('error', code=error.get('code'), message=str(error.get('message')), data=small(error.get('data')), server=self._facts(request))
        elif kind == 'input_required' and isinstance(result, dict):
            self._questions.begin_round(request, result)
        elif kind not in (None, 'complete'):
            request.tell('error', code=_INTERNAL_ERROR, message=f'its answer is of an unknown kind: {str(kind)[:100]}')
        else:
            request.tell('answer', result=result, server=self._facts(request))

    def _facts(self, request: Request) -> dict[str, Any]:
        """What the server says about itself; all of it only to those who list its tools."""
        if request.method != 'tools/list':
            return self.about
        return {**self.about, 'offers': self.offers, 'instructions': self.instructions}

    def _pass_on(self, params: object) -> None:
        if not isinstance(params, dict):
            return
        token = params.get('progressToken')
        with self._lock:
            request = self._open.get(token) if isinstance(token, str) else None
        if request is not None:
            progress, total = params.get('progress'), params.get('total')
            text = params.get('message') or (f'{progress}' if total is None else f'{progress} of {total}')
            request.tell('progress', text=str(text)[:_MAX_PROGRESS])

    def _count_noise(self) -> None:
        since, count = self._noise
        now = time.monotonic()
        self._noise = (since, count + 1) if now - since <= 1 else (now, 1)
        if self._noise[1] > _MAX_NOISE:
            self.stop(f'it sent more than {_MAX_NOISE} notifications or unreadable lines within a second')

    def _finish(self) -> None:
        self._input.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._kill()
        code = self._process.wait()
        self._listeners[0].join(0.2)
        words = self._words.decode('utf-8', 'replace').strip()
        self.why = self.why or words or (f'it ended with exit code {code}' if code >= 0 else f'it was ended by signal {-code}')
        with self._lock:
            self.ended.set()
            left = list(self._open.values())
            self._open.clear()
        for request in left:
            request.tell('gone', why=self.why)

    def _kill(self) -> None:
        """Also ends what it has started: the program may be only the launcher of the server."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
