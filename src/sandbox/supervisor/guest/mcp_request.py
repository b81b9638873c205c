"""One request to a server of the Model Context Protocol, up to its last report."""

from __future__ import annotations

import contextlib
import json
import queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp_process import ServerProcess


_INTERNAL_ERROR = -32603


class Request:
    """One open request. Its reports wait in `lines`; None ends them."""

    def __init__(self, request_id: str, method: str, params: dict[str, Any], asks: bool = False) -> None:
        self.id = request_id
        self.method = method
        self.params = params
        self.asks = asks
        """A worker that can ask a person follows it."""
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.over = False
        self.server: ServerProcess | None = None
        """The one that has it, or had it last."""
        self.sent_as = request_id
        """Its id at the server. In the revision 2026-07-28, it is sent again under another one with each round of answers."""
        self.rounds = 0
        self.answers: dict[str, Any] = {}
        self.missing = 0
        """Answers of this round that have not come yet."""
        self.given: dict[str, Any] = {}
        """What it is sent again with."""

    def tell(self, kind: str, **fields: Any) -> None:
        if self.over:
            return
        self.over = kind in ('answer', 'error', 'failed', 'gone')
        self._pass_on(kind, fields)

    def _pass_on(self, kind: str, fields: dict[str, Any]) -> None:
        self.lines.put(line_of(kind, fields))
        if self.over:
            self.lines.put(None)

    def outcome(self, seconds: float) -> Any:
        """The last report; None if it does not come in time."""
        line = None
        with contextlib.suppress(queue.Empty):
            line = json.loads(self.lines.get(timeout=seconds) or b'null')
        return line


def line_of(kind: str, fields: dict[str, Any]) -> bytes:
    """A report as it is sent."""
    try:
        text = json.dumps({'type': kind, **fields}, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps({'type': 'error', 'code': _INTERNAL_ERROR, 'message': 'its answer has NaN or Infinity as a number, which JSON does not have'})
    return text.encode('utf-8', 'replace') + b'\n'
