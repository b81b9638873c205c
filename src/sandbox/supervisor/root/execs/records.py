"""What is known of each exec: of one that runs from its execution, of any other from the journal."""

from __future__ import annotations

from root.execs.follow import Recorded
from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from root.execs.execution import Execution
    from root.execs.journal import Journal
    from shared.shapes import Fields, Source


class Records:
    def __init__(self, journal: Journal, live: dict[str, Execution]) -> None:
        self._journal = journal
        self._live = live
        self._unsaved: dict[str, Fields] = {}
        """Ended execs whose record did not fit on the volume."""

    def require(self, exec_id: str) -> None:
        if exec_id not in self._live and not self._journal.exists(exec_id):
            raise Refused('EXEC_NOT_FOUND', exec_id)

    def spec(self, exec_id: str) -> Fields | None:
        execution = self._live.get(exec_id)
        return execution.spec if execution else self._journal.read_spec(exec_id)

    def started_at(self, exec_id: str) -> str:
        spec = self.spec(exec_id)
        started_at: str = spec['startedAt'] if spec else ''
        return started_at

    def recorded(self, exec_id: str) -> Source:
        """One that does not run, for its followers."""
        self.require(exec_id)
        return Recorded(self._journal, exec_id, self._exit(exec_id))

    def info(self, exec_id: str) -> Fields:
        execution = self._live.get(exec_id)
        spec = self.spec(exec_id)
        paths = {'stdoutPath': self._journal.path(exec_id, 'stdout'), 'stderrPath': self._journal.path(exec_id, 'stderr')}
        info = {**paths, 'execId': exec_id, 'command': spec['command'] if spec else '', 'startedAt': spec['startedAt'] if spec else ''}
        if execution is not None and execution.exit is None:
            return {**info, 'state': 'running', 'stdoutBytes': execution.total[0], 'stderrBytes': execution.total[1]}
        record = (execution.exit if execution is not None else None) or self._exit(exec_id)
        info['state'] = 'lost' if record['status'] == 'lost' else 'ended'
        if info['state'] == 'lost' and self._journal.is_past(spec):
            info['past'] = True
        return {**info, 'stdoutBytes': record['stdoutBytes'], 'stderrBytes': record['stderrBytes'], 'exit': record}

    def save(self, execution: Execution, record: Fields) -> None:
        """Records its end, in memory as long as the volume has no room for it."""
        if not self._journal.write_exit(execution.exit_file, record):
            self._unsaved[execution.id] = record

    def save_again(self) -> None:
        """Tries again what did not fit on the volume."""
        for exec_id in tuple(self._unsaved):
            try:
                fd = self._journal.create_exit(exec_id)
            except OSError:
                return
            if not self._journal.write_exit(fd, self._unsaved[exec_id]):
                return
            del self._unsaved[exec_id]

    def remove(self, exec_id: str) -> None:
        self._unsaved.pop(exec_id, None)
        self._journal.remove(exec_id)

    def _exit(self, exec_id: str) -> Fields:
        record = self._unsaved.get(exec_id) or self._journal.read_exit(exec_id)
        if record is not None:
            return record
        stdout, stderr = self._journal.sizes(exec_id)
        return {
            'status': 'lost',
            'durationMs': 0,
            'stdoutBytes': stdout,
            'stderrBytes': stderr,
            'stdoutKept': stdout,
            'stderrKept': stderr,
        }
