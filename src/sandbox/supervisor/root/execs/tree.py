"""What runs a command: the tree of processes below a runner."""

from __future__ import annotations

import os
import struct

from root.execs import processes, runner
from root.loop import READ
from shared.lean_modules import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.execs.nursery import Spawned
    from root.execs.outputs import Outputs
    from root.execs.stdin import Stdin
    from root.loop import Loop


class Tree:
    """Is the `body` of its execution (see shapes.py)."""

    due: float | None = None

    def __init__(self, spawned: Spawned, may_write: bool, loop: Loop) -> None:
        self.may_write = may_write
        self.status: int | None = None
        self.problem: str | None = None
        self.gone = False
        self._loop = loop
        self._pid = spawned.pid
        self._pipes = (spawned.stdout, spawned.stderr)
        self._stdin = spawned.stdin
        self._status_pipe = spawned.status
        self._report = b''

    def begin(self, outputs: Outputs, stdin: Stdin | None, on_change: Callable[[], object]) -> None:
        self._on_change = on_change
        outputs.read_from(self._pipes)
        if stdin is not None:
            stdin.write_to(self._stdin)
        self._loop.add(self._status_pipe, READ, self._on_status)

    @property
    def is_empty(self) -> bool:
        return self.gone or not processes.descendants(self._pid)

    def signal(self, number: int) -> int:
        return 0 if self.gone else processes.signal_tree(self._pid, number)

    def hold_still(self) -> list[int]:
        return [] if self.gone else processes.hold_still(self._pid)

    def on_due(self, now: float) -> None:
        pass

    def _on_status(self, mask: int) -> None:
        try:
            data = os.read(self._status_pipe, 8192)
        except BlockingIOError:
            return
        if data:
            self._report += data
            self._parse_report()
        else:
            self._loop.remove(self._status_pipe)
            os.close(self._status_pipe)
            self.gone = True
            if self.status is None and self.problem is None:
                # The runner itself was killed (out of memory), so it is not known how the command ended.
                self.status = signal.SIGKILL
        self._on_change()

    def _parse_report(self) -> None:
        report = self._report
        if report[:1] == runner.ENDED and len(report) >= runner.ENDED_SIZE:
            self.status = struct.unpack('>i', report[1 : runner.ENDED_SIZE])[0]
        elif report[:1] == runner.FAILED and len(report) >= 3:
            size = 3 + struct.unpack('>H', report[1:3])[0]
            if len(report) >= size:
                self.problem = report[3:size].decode('utf-8', 'replace')
                self._report = b''
