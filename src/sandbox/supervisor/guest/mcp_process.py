"""One process of a server of the Model Context Protocol, and its open requests; for mcp_server.py."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from urllib.parse import quote

from mcp_words import log, names_of, tell_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Callable

_VERSION = '2025-11-25'
_COMES_UP = 30.0
_MAX_MESSAGE = 8 * 1024 * 1024
# Notifications and lines that are no messages, in a second.
_MAX_NOISE = 1_000
_MAX_LAST_WORDS = 500
_MAX_PROGRESS = 200
_MAX_INSTRUCTIONS = 10_000
_INVALID_REQUEST = -32600
_INVALID_PARAMS = -32602
# What a server may ask of its worker, and its largest size as JSON. The worker accepts less, and tells the server so.
_QUESTIONS = {'elicitation/create': 256 * 1024, 'sampling/createMessage': 900_000}
_MAY_SAMPLE = 'LONGSHORE_MCP_SAMPLING'
# For the reasons of a worker that does not answer. All others say that the question is not valid.
_CODES = {'REFUSED': -1, 'TOOL_FAILED': -32603}


class Request:
    """One open request. `report` takes the reports for its client; None ends them."""

    def __init__(self, request_id: str, method: str, params: dict[str, Any], report: Callable[[bytes | None], object], asks: bool = False) -> None:
        self.id = request_id
        self.method = method
        self.params = params
        self.asks = asks
        """A worker that can ask a person follows it."""
        self.report = report
        self.over = False

    def tell(self, kind: str, **fields: Any) -> None:
        if self.over:
            return
        self.over = kind in ('answer', 'error', 'failed', 'gone')
        self.report(json.dumps({'type': kind, **fields}, ensure_ascii=False).encode('utf-8', 'replace') + b'\n')
        if self.over:
            self.report(None)


class ServerProcess:
    def __init__(self, program: list[str]) -> None:
        self.about: dict[str, Any] = {}
        self.offers: list[str] = []
        self.instructions = ''
        self.why = ''
        self.ended = threading.Event()
        self._open: dict[str, Request] = {}
        self._asked: dict[int, tuple[Request, Any]] = {}
        self._questions = 0
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._words = b''
        self._noise = (0.0, 0)
        self._may_sample = _MAY_SAMPLE in os.environ
        pipe = subprocess.PIPE
        env = {name: value for name, value in os.environ.items() if name != _MAY_SAMPLE}
        self._process = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, env=env)
        self._stdin: IO[bytes] = self._process.stdin  # type: ignore[assignment]
        self._stdout: IO[bytes] = self._process.stdout  # type: ignore[assignment]
        self._stderr: IO[bytes] = self._process.stderr  # type: ignore[assignment]
        self._listeners = [threading.Thread(target=work, daemon=True) for work in (self._hear_words, self._hear)]
        for listener in self._listeners:
            listener.start()

    def greet(self) -> None:
        """Raises with the reason when the server cannot be initialized."""
        capabilities: dict[str, Any] = {'elicitation': {'form': {}, 'url': {}}, 'roots': {}}
        if self._may_sample:
            capabilities['sampling'] = {}
        about = {'protocolVersion': _VERSION, 'capabilities': capabilities, 'clientInfo': {'name': 'longshore', 'version': '0.1.0'}}
        lines: queue.Queue[bytes | None] = queue.Queue()
        self.ask(Request('longshore-greeting', 'initialize', about, lines.put))
        line = None
        with contextlib.suppress(queue.Empty):
            while line is None or line['type'] == 'made':
                line = json.loads(lines.get(timeout=_COMES_UP) or b'null')
        if line is None or line['type'] == 'made':
            raise RuntimeError(f'it did not answer within {_COMES_UP:.0f} seconds')
        if line['type'] != 'answer':
            raise RuntimeError(line.get('why') or line.get('message') or 'it did not accept the initialize request')
        if not isinstance(line['result'], dict):
            raise RuntimeError('its answer to initialize is not an object')
        known, offers, words = (line['result'].get(name) for name in ('serverInfo', 'capabilities', 'instructions'))
        self.about = known if isinstance(known, dict) else {}
        self.offers = names_of(offers) if isinstance(offers, dict) else []
        self.instructions = words[:_MAX_INSTRUCTIONS] if isinstance(words, str) else ''
        self._send({'method': 'notifications/initialized'})

    def ask(self, request: Request) -> None:
        with self._lock:
            if self.ended.is_set():
                request.tell('failed', why=self.why)
                return
            if request.id in self._open:
                request.tell('failed', why=f'a request {request.id} is running already')
                return
            self._open[request.id] = request
        request.tell('made')
        self._send({'id': request.id, 'method': request.method, 'params': request.params})

    def cancel(self, request: Request) -> None:
        with self._lock:
            under_way = self._open.pop(request.id, None) is request
            self._forget_questions(request)
        if under_way:
            self._send({'method': 'notifications/cancelled', 'params': {'requestId': request.id, 'reason': 'the call was ended'}})
        # Who waits for the result of a task is its call.
        if under_way and request.method == 'tasks/result':
            self._send({'id': f'{request.id}-cancel', 'method': 'tasks/cancel', 'params': {'taskId': request.params.get('taskId')}})

    def answer(self, request: Request, number: int, result: dict[str, Any]) -> None:
        """Passes on the answer to a question that the server asked during this request: its `ok`, or why there is none."""
        with self._lock:
            of, message_id = self._asked.get(number, (None, None))
            if of is not request:
                return
            del self._asked[number]
        error = result.get('error')
        if isinstance(error, dict):
            code = _CODES.get(str(error.get('code')), _INVALID_PARAMS)
            self._send({'id': message_id, 'error': {'code': code, 'message': str(error.get('message'))}})
        else:
            self._send({'id': message_id, 'result': result.get('ok')})

    def stop(self, why: str) -> None:
        self.why = self.why or why
        self._kill()

    def _send(self, message: dict[str, Any]) -> None:
        data = memoryview(json.dumps({'jsonrpc': '2.0', **message}).encode() + b'\n')
        # The other pipe shows that the server has ended.
        with self._writing, contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._stdin.fileno(), data) :]

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
        if 'method' not in message:
            self._settle(message)
        elif 'id' in message and self._may_ask(message['method']):
            self._ask(message)
        elif 'id' in message:
            self._serve(message)
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
            self._forget_questions(request)
        error = message.get('error')
        if isinstance(error, dict):
            request.tell('error', code=error.get('code'), message=str(error.get('message')), server=self._facts(request))
        else:
            request.tell('answer', result=message.get('result'), server=self._facts(request))

    def _forget_questions(self, request: Request) -> None:
        self._asked = {number: asked for number, asked in self._asked.items() if asked[0] is not request}

    def _facts(self, request: Request) -> dict[str, Any]:
        """What the server says about itself; all of it only to those who list its tools."""
        if request.method != 'tools/list':
            return self.about
        return {**self.about, 'offers': self.offers, 'instructions': self.instructions}

    def _may_ask(self, method: object) -> bool:
        return method == 'elicitation/create' or (method == 'sampling/createMessage' and self._may_sample)

    def _ask(self, message: dict[str, Any]) -> None:
        """A program does not say during which request it asks. All of them are of the same sandbox; the newest counts."""
        method, params = message['method'], message.get('params')
        with self._lock:
            request = next((each for each in reversed(list(self._open.values())) if each.asks), None)
            is_valid = isinstance(params, dict) and len(json.dumps(params)) <= _QUESTIONS[method]
            if request is not None and is_valid:
                self._questions += 1
                self._asked[self._questions] = (request, message['id'])
                request.tell('ask', number=self._questions, method=method, params=params)
                return
        if request is None:
            error = {'code': _INVALID_REQUEST, 'message': 'no call is in progress in which it could be asked'}
        else:
            error = {'code': _INVALID_PARAMS, 'message': 'the question is too large, or not an object'}
        self._send({'id': message['id'], 'error': error})

    def _serve(self, message: dict[str, Any]) -> None:
        """A server may send only few requests to its client."""
        if message['method'] == 'ping':
            self._send({'id': message['id'], 'result': {}})
        elif message['method'] == 'roots/list':
            home = os.path.expanduser('~')
            self._send({'id': message['id'], 'result': {'roots': [{'uri': 'file://' + quote(home), 'name': 'home of the sandbox'}]}})
        else:
            self._send({'id': message['id'], 'error': {'code': -32601, 'message': f'{message["method"]} is not offered'}})

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
        self._stdin.close()
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
