"""A running exec: counts its time, ends its tree, records its end."""

from __future__ import annotations

import os
import struct

from root.execs import processes, runner
from root.execs.outputs import Outputs
from root.loop import READ
from shared.lean_modules import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.execs.follow import Follower
    from root.execs.journal import Journal
    from root.execs.memory import MemoryKills
    from root.execs.nursery import Spawned
    from root.execs.stdin import Stdin
    from root.loop import Loop
    from root.methods import Desk
    from shared.shapes import Fields

_GRACE = 2.0
_KILL_AGAIN = 0.05


class Execution:
    """Is the `source` of its followers (see follow.py)."""

    def __init__(
        self,
        exec_id: str,
        spec: Fields,
        spawned: Spawned,
        journal: Journal,
        loop: Loop,
        on_end: Callable[[Execution, Fields], None],
        on_gone: Callable[[Execution], None],
        memory_kills: MemoryKills,
    ) -> None:
        self.id = exec_id
        self.spec = spec
        self.exit: Fields | None = None
        self.paths = (journal.path(exec_id, 'stdout'), journal.path(exec_id, 'stderr'))
        self.exit_file = -1
        self.stdin: Stdin | None = None
        self.desk: Desk | None = None
        """Where its code calls tools."""
        self.followers: list[Follower] = []
        self.may_write = True
        """False when it was started without room for its files."""
        self.grace = _GRACE
        """Seconds from SIGTERM to SIGKILL."""
        self.due: float | None = None
        """The active time at which `on_due` has to be called."""
        self._journal = journal
        self._loop = loop
        self._on_end = on_end
        self._on_gone = on_gone
        self._pid = spawned.pid
        self._status_pipe = spawned.status
        self._report = b''
        self._wait_status: int | None = None
        self._reason: str | None = None
        self._limit_hit: str | None = None
        self._memory_kills = memory_kills
        self._killed_before = memory_kills.count()
        self._kill_at: float | None = None
        self._concluded_by: int | None = None
        self._held_left: float | None = None
        """Seconds left of its time, which stands still while a call waits."""
        self._started = loop.now()
        self._deadline: float | None = None
        if spec['timeoutMs']:
            self.due = self._deadline = self._started + spec['timeoutMs'] / 1000
        else:
            self._deadline = None
        self._outputs = Outputs((spawned.stdout, spawned.stderr), spec['maxOutputBytes'], loop, self._tell_followers)
        loop.add(spawned.status, READ, self._on_status)

    @property
    def outputs(self) -> list[int]:
        return self._outputs.files

    @property
    def kept(self) -> list[int]:
        return self._outputs.kept

    @property
    def total(self) -> list[int]:
        return self._outputs.total

    @property
    def gone(self) -> bool:
        """True when nothing of its tree is left."""
        return self._status_pipe < 0

    @property
    def leaves_nothing(self) -> bool:
        """True when it has ended and left no process behind, even if its runner is still on the way out."""
        return self.exit is not None and (self.gone or not processes.descendants(self._pid))

    def signal(self, number: int) -> bool:
        """Returns whether there was anything to signal."""
        was_running = self.exit is None
        if self.gone:
            return False
        ends = number in (signal.SIGTERM, signal.SIGKILL)
        if ends and was_running and self._reason is None:
            self._reason = 'killed'
        found = self._end_tree(number == signal.SIGKILL) if ends else processes.signal_tree(self._pid, number)
        return was_running or found > 0

    def cut_off(self) -> None:
        """The sandbox stops: the exec is ended without a record of its end, and is lost."""
        if self.exit is None and self._reason is None:
            self._reason = 'lost'
        self._end_tree(True)

    def conclude(self, number: int) -> None:
        if self.exit is None and self._reason is None:
            self._reason = 'concluded'
            self._concluded_by = number
            self._end_tree(True)

    def hold_clock(self, held: bool) -> None:
        if held and self._deadline is not None:
            self._held_left = max(0.0, self._deadline - self._loop.now())
            self._deadline = None
        elif not held and self._held_left is not None:
            self._deadline = self._loop.now() + self._held_left
            self._held_left = None
        self._schedule()

    def on_due(self, now: float) -> None:
        if self._kill_at is not None and now >= self._kill_at:
            self._end_tree(True)
        elif self._deadline is not None and now >= self._deadline:
            if self.exit is None:
                if self._reason is None:
                    self._reason = 'timeout'
                self._end_tree(False)
            self._deadline = None
        self._schedule()

    def stop_for_disk(self) -> None:
        """Ends it because the sandbox's files have no more room."""
        if self.exit is None and self._reason is None:
            self._limit_hit = 'disk'
        self._end_tree(True)

    def hold_still(self) -> list[int]:
        return [] if self.gone else processes.hold_still(self._pid)

    def keep(self, outputs: list[int], exit_file: int) -> None:
        """In these files of the journal."""
        self._outputs.files = outputs
        self.exit_file = exit_file

    def keep_no_more(self) -> None:
        self._outputs.keep_no_more()

    def unfollow(self, follower: Follower) -> None:
        if follower in self.followers:
            self.followers.remove(follower)
        self._close_outputs()

    def _end_tree(self, now: bool) -> int:
        if self._kill_at is None or now:
            self._kill_at = self._loop.now() + (_KILL_AGAIN if now else self.grace)
        found = processes.signal_tree(self._pid, signal.SIGKILL if now else signal.SIGTERM)
        self._schedule()
        return found

    def _schedule(self) -> None:
        times = [time for time in (self._kill_at, self._deadline) if time is not None]
        self.due = min(times) if times and not self.gone else None

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
            self._status_pipe = -1
            if self._wait_status is None and self.exit is None:
                # The runner itself was killed (out of memory), so it is not known how the command ended.
                self._wait_status = signal.SIGKILL
        if self._wait_status is not None and self.exit is None and (self._kill_at is None or self.gone):
            self._finish(self._wait_status)
        if self.gone:
            self._let_go()

    def _parse_report(self) -> None:
        report = self._report
        if report[:1] == runner.ENDED and len(report) >= runner.ENDED_SIZE:
            self._wait_status = struct.unpack('>i', report[1 : runner.ENDED_SIZE])[0]
        elif report[:1] == runner.FAILED and len(report) >= 3:
            size = 3 + struct.unpack('>H', report[1:3])[0]
            if len(report) >= size:
                problem = report[3:size].decode('utf-8', 'replace')
                self._report = b''
                self._end({'status': 'failed', 'problem': problem})

    def _finish(self, status: int) -> None:
        self._outputs.drain()
        if self._reason == 'lost' and status != signal.SIGKILL:
            # It ended by itself before it could be ended.
            self._reason = None
        record: Fields = {'status': self._reason or 'exited'}
        if os.WIFSIGNALED(status):
            record['signal'] = _signal_name(os.WTERMSIG(status))
        else:
            record['exitCode'] = os.WEXITSTATUS(status)
        # Any of the sandbox's processes may have been taken; one that failed meanwhile has most likely lost its own.
        if status and self._limit_hit is None and self._memory_kills.count() > self._killed_before:
            self._limit_hit = 'memory'
        if self._limit_hit is None and (_met_file_limit(status) or (status and not self.may_write)):
            self._limit_hit = 'disk'
        if self._limit_hit is not None:
            record['limit'] = self._limit_hit
        self._end(record)

    def _end(self, record: Fields) -> None:
        if self.exit is not None:
            return
        self.exit = record
        if self._concluded_by is not None:
            record['concludedBy'] = self._concluded_by
        record['durationMs'] = round((self._loop.now() - self._started) * 1000)
        record['stdoutBytes'], record['stderrBytes'] = self._outputs.total
        record['stdoutKept'], record['stderrKept'] = self._outputs.kept
        self._deadline = self._held_left = None
        self._schedule()
        if self.stdin is not None:
            self.stdin.close()
        self._on_end(self, record)
        self._tell_followers()

    def _tell_followers(self) -> None:
        for follower in tuple(self.followers):
            follower.advance()

    def _let_go(self) -> None:
        self._outputs.close_pipes()
        self.due = None
        self._on_gone(self)
        self._close_outputs()

    def _close_outputs(self) -> None:
        """Readers that are behind continue to read after the processes have ended."""
        if self.gone and not self.followers:
            self._outputs.close_files()


def _met_file_limit(status: int) -> bool:
    """The exit status of a command, or of a command that a shell reports."""
    return signal.SIGXFSZ in (os.WTERMSIG(status), os.WEXITSTATUS(status) - 128)


def _signal_name(number: int) -> str:
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return f'SIG{number}'
