"""All in a sandbox that may write to its volume: commands, and work on files for the worker."""

import processes


class Writers:
    def __init__(self, executions, file_works):
        self._executions = executions
        self._file_works = file_works

    @property
    def busy(self):
        return self._executions.running or bool(self._file_works)

    def hold_still(self):
        """Until `go_on`, which is given what this returns, or their end, nothing more is written."""
        return self._executions.hold_still() + [pid for work in tuple(self._file_works) for pid in work.hold_still()]

    def go_on(self, held):
        processes.go_on(held)

    def end(self):
        """Which of them fills the volume cannot be seen, so all are ended."""
        self._executions.stop_writers()
        for work in tuple(self._file_works):
            work.end_for_disk()
