"""A running exec: counts its time, ends what runs it, records its end."""

from __future__ import annotations

import os

from root.execs.outputs import Outputs
from shared.lean_modules import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.execs.follow import Follower
    from root.execs.journal import Journal
    from root.execs.memory import MemoryKills
    from root.execs.stdin import Stdin
    from root.loop import Loop
    from root.methods import Desk
    from shared.shapes import Body, Fields

_GRACE = 2.0
_KILL_AGAIN = 0.05


class Execution:
    """Is the `source` of its followers (see follow.py)."""

    def __init__(
        self,
        exec_id: str,
        spec: Fields,
        body: Body,
        stdin: Stdin | None,
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
        self.stdin = stdin
        self.desk: Desk | None = None
        """Where its code calls tools."""
        self.followers: list[Follower] = []
        self.grace = _GRACE
        """Seconds from SIGTERM to SIGKILL."""
        self._journal = journal
        self._loop = loop
        self._on_end = on_end
        self._on_gone = on_gone
        self._body = body
        self._reason: str | None = None
        self._limit_hit: str | None = None
        self._memory_kills = memory_kills
        self._killed_before = memory_kills.count()
        self._kill_at: float | None = None
        self._concluded_by: int | None = None
        self._held_left: float | None = None
        """Seconds left of its time, which stands still while a call waits."""
        self._started = loop.now()
        self._deadline: float | None = self._started + spec['timeoutMs'] / 1000 if spec['timeoutMs'] else None
        self._outputs = Outputs(spec['maxOutputBytes'], loop, self._tell_followers)
        body.begin(self._outputs, stdin, self._on_change)

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
        """True when nothing of what runs it is left."""
        return self._body.gone

    @property
    def due(self) -> float | None:
        """The active time at which `on_due` has to be called."""
        times = [time for time in (self._kill_at, self._deadline, self._body.due) if time is not None]
        return min(times) if times and not self.gone else None

    @property
    def leaves_nothing(self) -> bool:
        """True when it has ended and left no process behind, even if its runner is still on the way out."""
        return self.exit is not None and self._body.is_empty

    def signal(self, number: int) -> bool:
        """Returns whether there was anything to signal."""
        was_running = self.exit is None
        if self.gone:
            return False
        ends = number in (signal.SIGTERM, signal.SIGKILL)
        if ends and was_running and self._reason is None:
            self._reason = 'killed'
        found = self._end_tree(number == signal.SIGKILL) if ends else self._body.signal(number)
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

    def on_due(self, now: float) -> None:
        if self._kill_at is not None and now >= self._kill_at:
            self._end_tree(True)
        elif self._deadline is not None and now >= self._deadline:
            if self.exit is None:
                if self._reason is None:
                    self._reason = 'timeout'
                self._end_tree(False)
            self._deadline = None
        if self._body.due is not None and now >= self._body.due:
            self._body.on_due(now)

    def stop_for_disk(self) -> None:
        """Ends it because the sandbox's files have no more room."""
        if self.exit is None and self._reason is None:
            self._limit_hit = 'disk'
        self._end_tree(True)

    def hold_still(self) -> list[int]:
        return self._body.hold_still()

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
        return self._body.signal(signal.SIGKILL if now else signal.SIGTERM)

    def _on_change(self) -> None:
        body = self._body
        if body.problem is not None:
            self._end({'status': 'failed', 'problem': body.problem})
        elif body.status is not None and self.exit is None and (self._kill_at is None or body.gone):
            self._finish(body.status)
        if body.gone:
            self._let_go()

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
        if self._limit_hit is None and (_met_file_limit(status) or (status and not self._body.may_write)):
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
        if self.stdin is not None:
            self.stdin.close()
        self._on_end(self, record)
        self._tell_followers()

    def _tell_followers(self) -> None:
        for follower in tuple(self.followers):
            follower.advance()

    def _let_go(self) -> None:
        self._outputs.close_pipes()
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
