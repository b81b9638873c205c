"""Runs Python code and reports its output, results and end, as the guest. Without arguments: one piece of code, given on stdin. With a name: a
context that stays alive, whose clients (interpreter_call.py) each bring a piece.

A request is one line of JSON: `code`, `cwd` when there is one, `env`, and for a context `client`, which names the process of the client. Reports are
lines of JSON: `started`, then `stdout`, `stderr`, `result` in the order in which they came, then `ended`. A context first reports `turn` with its
`pid`, and begins when the client has answered with an empty line."""

from __future__ import annotations

import ast
import base64
import builtins
import contextlib
import io
import json
import linecache
import os
import signal
import socket
import sys
import threading
import time
import traceback
import types

import guest_socket
from interpreter_output import LIMITS, Capture, Stream, Teller, cut_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

_MAX_PART = LIMITS['partCharacters']
_RICH = (
    ('text/html', '_repr_html_'),
    ('text/markdown', '_repr_markdown_'),
    ('image/svg+xml', '_repr_svg_'),
    ('image/png', '_repr_png_'),
    ('image/jpeg', '_repr_jpeg_'),
    ('application/json', '_repr_json_'),
    ('text/latex', '_repr_latex_'),
)


class Interpreter:
    def __init__(self) -> None:
        self.teller = Teller(os.open('/dev/null', os.O_WRONLY))
        self.busy = False
        self._count = 0
        self._module = types.ModuleType('__main__')
        vars(self._module).update(__builtins__=builtins, display=self.display)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._captures = [Capture(1, 'stdout'), Capture(2, 'stderr')]
        sys.modules['__main__'] = self._module
        os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
        sys.stdin = open('/dev/null')  # noqa: SIM115
        sys.stdout, sys.stderr = Stream(self, 'stdout', 1), Stream(self, 'stderr', 2)
        sys.displayhook = self.display
        # Modules are searched in the working directory of the code, not in the directory of this program.
        sys.path[0] = ''
        os.environ.setdefault('MPLBACKEND', 'Agg')

    def run(self, request: dict[str, Any], teller: Teller) -> None:
        self._count += 1
        self.teller = teller
        for capture in self._captures:
            capture.teller = teller
        started = time.monotonic()
        error = None
        try:
            try:
                # The client interrupts the code from the report on; before, an interrupt would be ignored.
                self.busy = True
                teller.tell('started', count=self._count)
                self._execute(request)
                self._show_figures()
            finally:
                self.busy = False
        except BaseException as problem:
            error = self._describe(problem)
            teller.cut = (error is not None and cut_error(error)) or teller.cut
        for capture in self._captures:
            capture.drain(final=True)
        ended: dict[str, Any] = {} if error is None else {'error': error}
        if teller.cut:
            ended.update(cut=True, untold=teller.untold)
        teller.tell('ended', durationMs=round((time.monotonic() - started) * 1000), **ended)
        teller.end()

    def display(self, *values: object) -> None:
        for value in values:
            if value is not None:
                builtins._ = value  # type: ignore[attr-defined]
                data, cut = _bundle(value)
                self.teller.cut = self.teller.cut or cut
                self.teller.tell('result', data=data)

    def _execute(self, request: dict[str, Any]) -> None:
        with _setting(request.get('cwd'), request.get('env') or {}):
            self._execute_there(request)

    def _execute_there(self, request: dict[str, Any]) -> None:
        code = request['code']
        name = f'<code {self._count}>'
        # A traceback then shows the lines of the code.
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = ast.parse(code, name)
        if 'LONGSHORE_GUEST' in os.environ:
            self._offer_tools(tree)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(';') else None
        self._evaluate(compile(tree, name, 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True))
        if last is not None:
            self.display(self._evaluate(compile(ast.Expression(last.value), name, 'eval', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)))

    def _offer_tools(self, tree: ast.Module) -> None:
        if os.environ['LONGSHORE_GUEST'] not in sys.path:
            sys.path.append(os.environ['LONGSHORE_GUEST'])
        from longshore_names import offer_bare_names

        offer_bare_names(tree, self._module.__dict__)

    def _evaluate(self, code: CodeType) -> Any:
        value = eval(code, self._module.__dict__)
        if code.co_flags & 0x80:
            import asyncio

            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self._loop)
            return self._loop.run_until_complete(value)
        return value

    def _show_figures(self) -> None:
        pyplot = sys.modules.get('matplotlib.pyplot')
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            image = io.BytesIO()
            pyplot.figure(number).savefig(image, format='png', bbox_inches='tight')
            self.teller.tell('result', data={'image/png': base64.b64encode(image.getvalue()).decode()})
        pyplot.close('all')

    def _describe(self, problem: BaseException) -> dict[str, str] | None:
        if isinstance(problem, SystemExit):
            code = problem.code
            if code in (None, 0):
                return None
            return {'type': 'SystemExit', 'message': str(code), 'traceback': f'SystemExit: {code}'}
        # The frames of this program are left out.
        frames = problem.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        text = ''.join(traceback.format_exception(type(problem), problem, frames))
        return {'type': type(problem).__name__, 'message': str(problem), 'traceback': text}


@contextlib.contextmanager
def _setting(cwd: str | None, env: dict[str, str]) -> Iterator[None]:
    """Directory and environment of one piece of code; changes that the code makes itself stay."""
    before = {name: os.environ.get(name) for name in env}
    directory = None
    if cwd:
        with contextlib.suppress(OSError):
            directory = os.getcwd()
        os.chdir(cwd)
        cwd = os.getcwd()
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if os.environ.get(name) != env[name]:
                continue
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if directory is not None:
            with contextlib.suppress(OSError):
                if os.getcwd() == cwd:
                    os.chdir(directory)


def _bundle(value: Any) -> tuple[dict[str, Any], bool]:
    data = {}
    custom = getattr(type(value), '_repr_mimebundle_', None)
    if custom is not None:
        with contextlib.suppress(Exception):
            found = value._repr_mimebundle_()
            data.update(found[0] if isinstance(found, tuple) else found)
    for mime, method in _RICH:
        if mime not in data and hasattr(type(value), method):
            try:
                found = getattr(value, method)()
            except Exception:
                continue
            if found is not None:
                data[mime] = found[0] if isinstance(found, tuple) else found
    if isinstance(value, (dict, list)) and 'application/json' not in data:
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            json.dumps(value, allow_nan=False)
            data['application/json'] = value
    try:
        data['text/plain'] = repr(value)
    except Exception as problem:
        data['text/plain'] = f'<{type(value).__name__} whose repr failed: {problem!r}>'
    if len(data['text/plain']) > _MAX_PART:
        data['text/plain'] = data['text/plain'][:_MAX_PART]
        return _fitting(data), True
    fitting = _fitting(data)
    return fitting, len(fitting) < len(data)


def _fitting(data: dict[str, Any]) -> dict[str, Any]:
    return {mime: _portable(part) for mime, part in data.items() if _size(part) <= _MAX_PART}


def _portable(part: Any) -> Any:
    return base64.b64encode(part).decode() if isinstance(part, (bytes, bytearray)) else part


def _size(part: Any) -> int:
    return len(part) if isinstance(part, (str, bytes, bytearray)) else len(json.dumps(part, default=str))


def _serve(interpreter: Interpreter, name: str) -> None:
    """Serves one client after the other."""
    served = guest_socket.Served(name)
    listener = guest_socket.listen(name)
    signal.signal(signal.SIGINT, lambda number, frame: _interrupt(interpreter))
    for client, line in guest_socket.Requests(listener):
        with client:
            request = _parse(line)
            if request is None or not _take_turn(client):
                continue
            served.is_now(str(request.get('client', '')))
            done = threading.Event()
            watch = threading.Thread(target=_watch, args=(client, interpreter, done), daemon=True)
            watch.start()
            interpreter.run(request, Teller(client.fileno()))
            done.set()
            served.is_now('')
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_WR)
            # Until the client has hung up, it may still interrupt the code: it does not know yet that it has ended. That must not be the next piece.
            watch.join()


def _take_turn(client: socket.socket) -> bool:
    """False when the client has gone: its code must not begin."""
    with contextlib.suppress(OSError):
        client.sendall(json.dumps({'type': 'turn', 'pid': os.getpid()}).encode() + b'\n')
        return bool(client.recv(1))
    return False


def _parse(line: bytes) -> dict[str, Any] | None:
    """None for a request that our client cannot have sent."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return request if isinstance(request, dict) and isinstance(request.get('code'), str) else None


def _interrupt(interpreter: Interpreter) -> None:
    if interpreter.busy:
        raise KeyboardInterrupt


def _watch(client: socket.socket, interpreter: Interpreter, done: threading.Event) -> None:
    """When a client ends, its code is interrupted too."""
    with contextlib.suppress(OSError):
        while client.recv(4096):
            pass
    while not done.is_set():
        if interpreter.busy:
            os.kill(os.getpid(), signal.SIGINT)
            return
        done.wait(0.01)


def main() -> None:
    if len(sys.argv) > 1:
        _serve(Interpreter(), sys.argv[1])
    request = json.loads(sys.stdin.buffer.readline())
    output = os.dup(1)
    interpreter = Interpreter()
    signal.signal(signal.SIGTERM, lambda number, frame: _interrupt(interpreter))
    signal.signal(signal.SIGINT, lambda number, frame: _interrupt(interpreter))
    interpreter.run(request, Teller(output))
    # Not the usual exit, which would wait for threads of the code.
    os._exit(0)


main()
