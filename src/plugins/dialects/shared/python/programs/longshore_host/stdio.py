"""A connection that carries JSON-RPC, a message in each line."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Awaitable
from typing import Any, Callable

from longshore_host.apart import apart, text_of

# The other side ends a process that sends more, and with it all calls that are in progress there.
_LARGEST = 8 * 1024 * 1024

Answer = Callable[[str, 'dict[str, Any]'], Awaitable['dict[str, Any]']]


class RequestFailed(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Connection:
    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._open: dict[Any, asyncio.Task[None]] = {}
        self._writing = threading.Lock()

    @staticmethod
    def take_stdio() -> Connection:
        """Takes stdin and stdout away from the rest of the process, which gets an empty input, and stderr for what it prints."""
        connection = Connection(os.dup(0), os.dup(1))
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        return connection

    def is_idle(self) -> bool:
        return not self._open

    async def serve(self, answer: Answer) -> None:
        """Answers requests until the other side ends."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def take(line: bytes | None) -> None:
            try:
                if line is None:
                    ended.set_result(None)
                else:
                    self._take(json.loads(line), answer)
            except Exception as problem:
                if not ended.done():
                    ended.set_exception(problem)

        # A thread, because a plugin may keep the loop busy, and must not keep the other side from writing.
        threading.Thread(target=self._read, args=(lambda line: loop.call_soon_threadsafe(take, line),), daemon=True).start()
        await ended

    def _read(self, tell: Callable[[bytes | None], object]) -> None:
        with os.fdopen(self._source, 'rb') as source:
            for line in source:
                tell(line)
        tell(None)

    def _take(self, message: dict[str, Any], answer: Answer) -> None:
        method, request_id = message.get('method', ''), message.get('id')
        if request_id is not None:
            task = asyncio.ensure_future(self._run(request_id, answer(method, message.get('params') or {})))
            self._open[request_id] = task
            task.add_done_callback(lambda _: self._open.pop(request_id, None))
        elif method == 'notifications/cancelled':
            under_way = self._open.get((message.get('params') or {}).get('requestId'))
            if under_way is not None:
                under_way.cancel()

    async def _run(self, request_id: Any, answering: Awaitable[dict[str, Any]]) -> None:
        try:
            line = _line_of({'id': request_id, 'result': await apart(answering)})
        except RequestFailed as failed:
            line = _line_of({'id': request_id, 'error': {'code': failed.code, 'message': str(failed)}})
        except (Exception, SystemExit) as problem:
            line = _line_of({'id': request_id, 'error': {'code': -32602, 'message': text_of(problem)}})
        if len(line) > _LARGEST:
            refused = f'its result, with what it sends, has {len(line)} bytes as JSON; at most {_LARGEST} are allowed'
            line = _line_of({'id': request_id, 'error': {'code': -32000, 'message': refused}})
        self._send(line)

    def _send(self, line: bytes) -> None:
        data = memoryview(line)
        with self._writing:
            while data:
                data = data[os.write(self._target, data) :]


def _line_of(message: dict[str, Any]) -> bytes:
    return json.dumps({'jsonrpc': '2.0', **message}, ensure_ascii=False).encode('utf-8', 'replace') + b'\n'
