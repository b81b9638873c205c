"""All in a sandbox that may write to its volume: commands, and work on files for the worker."""

from __future__ import annotations

from root.execs import processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from root.execs.executions import Executions
    from root.file_work import FileWork


class Writers:
    def __init__(self, executions: Executions, file_works: set[FileWork]) -> None:
        self._executions = executions
        self._file_works = file_works

    @property
    def busy(self) -> bool:
        return self._executions.running or bool(self._file_works)

    def hold_still(self) -> list[int]:
        """Until `go_on`, which is given what this returns, or their end, nothing more is written."""
        return self._executions.hold_still() + [pid for work in tuple(self._file_works) for pid in work.hold_still()]

    def go_on(self, held: list[int]) -> None:
        processes.go_on(held)

    def end(self) -> None:
        """Which of them fills the volume cannot be seen, so all are ended."""
        self._executions.stop_writers()
        for work in tuple(self._file_works):
            work.end_for_disk()
