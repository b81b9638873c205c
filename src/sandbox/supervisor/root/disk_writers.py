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
        self._holders = 0
        self._held: list[int] = []

    @property
    def busy(self) -> bool:
        return self._executions.running or bool(self._file_works)

    def hold_still(self) -> list[int]:
        """Until each that called this has called `go_on`, nothing more is written. Returns all that are held."""
        self._holders += 1
        found = self._executions.hold_still() + [pid for work in tuple(self._file_works) for pid in work.hold_still()]
        self._held += [pid for pid in found if pid not in self._held]
        return self._held

    def go_on(self) -> None:
        self._holders -= 1
        if self._holders == 0:
            held, self._held = self._held, []
            processes.go_on(held)

    def end(self, holds: bool) -> None:
        """Which of them fills the volume cannot be seen, so all are ended. `holds`: the caller holds them still, and does not call `go_on`."""
        self._held = []
        self._holders -= holds
        self._executions.stop_writers()
        for work in tuple(self._file_works):
            work.end_for_disk()
