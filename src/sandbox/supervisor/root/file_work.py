"""Runs one file operation in a child and carries its data between the child and the client."""

from __future__ import annotations

import os
import sys

from as_guest import file_content, file_operations
from root import wide_pipes
from root.execs import processes, runner
from root.loop import READ, WRITE
from shared.lean_json import dumps, loads
from shared.lean_modules import signal
from shared.protocol import LIMITS, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from root.connection import Channel
    from root.disk_writers import Writers
    from root.loop import Loop
    from shared.shapes import Fields, Ids

_DATA_IN, _DATA_OUT, _RESULT = 0, 1, 3
# Seconds for the system calls of what is held still.
_STOPPING = 1.0
# An empty file without a name, which the children lock in turns.
_LOCK_FILE = os.memfd_create('file-changes')


class FileWork:
    """A `handler` of its channel. Memory is bounded by the channel's window in both directions."""

    def __init__(self, channel: Channel, loop: Loop, operation: str, fields: Fields, user: Ids, home: bytes, at_work: set[FileWork], writers: Writers) -> None:
        self._channel = channel
        self._loop = loop
        self._waiting = bytearray()
        self._told = bytearray()
        self._reading = False
        self._writing = False
        self._pid = 0
        self._problem = 'the work was ended from outside (out of memory?); try again, or give the sandbox more memoryMb'
        self._at_work = at_work
        self._writers = writers if operation in file_operations.ALONE else None
        held = [] if self._writers is None else self._writers.hold_still()
        try:
            self._spawn(operation, fields, user, home, held)
        except Exception:
            self._let_go_on()
            raise
        channel.handler = self
        if operation in file_operations.TAKING_DATA:
            at_work.add(self)
            channel.reply({'accepted': 0})
        self._listen()

    def on_data(self, data: bytes) -> None:
        written = 0
        if not self._waiting:
            try:
                written = os.write(self._input, data)
            except BlockingIOError:
                pass
            except OSError:
                # The child has failed already; its result says why.
                return
            self._channel.grant(written)
        if written < len(data):
            self._waiting += data[written:]
            self._write(WRITE)

    def on_credit(self) -> None:
        self._listen()

    def on_close(self) -> None:
        """The client has closed the channel: the child must not finish a write without a client."""
        if self._pid:
            self._end_child()
            self._release()

    def hold_still(self) -> list[int]:
        os.kill(self._pid, signal.SIGSTOP)
        return [self._pid]

    def end_for_disk(self) -> None:
        self._problem = 'the files of the sandbox take up more than they may; remove some'
        self._end_child()

    def _end_child(self) -> None:
        os.kill(self._pid, signal.SIGTERM)
        # One that is held still would never end, and its end is waited for.
        os.kill(self._pid, signal.SIGCONT)

    def _spawn(self, operation: str, fields: Fields, user: Ids, home: bytes, held: list[int]) -> None:
        input_read, self._input = os.pipe()
        self._output, output_write = os.pipe()
        self._result, result_write = os.pipe()
        # Until the child has a handler of its own, the one that it inherits from the supervisor would swallow the signal.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
        try:
            self._pid = os.fork()
        except OSError as error:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
            for fd in (input_read, self._input, self._output, output_write, self._result, result_write):
                os.close(fd)
            raise Refused(
                'FILE_FAILED', f'the sandbox has no room for another process ({error.strerror}); end some, or give the sandbox more pids or memoryMb'
            ) from error
        if self._pid == 0:
            try:
                _work((input_read, output_write, result_write), operation, fields, user, home, held)
            finally:
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
        for fd in (input_read, output_write, result_write):
            os.close(fd)
        os.set_blocking(self._input, False)
        os.set_blocking(self._output, False)
        # As it comes: the child ends only after it, and a pipe may hold less. The kernel makes pipes small for users who have many.
        self._loop.add(self._result, READ, self._take_result)
        # Small files do not need it, and it takes time.
        if max(fields.get('size', 0), fields.get('maxBytes', 0)) > wide_pipes.USUAL:
            wide_pipes.widen(self._input)
            wide_pipes.widen(self._output)

    def _listen(self) -> None:
        wanted = bool(self._pid) and self._channel.writable > 0
        if wanted and not self._reading:
            self._loop.add(self._output, READ, self._read)
        elif not wanted and self._reading:
            self._loop.remove(self._output)
        self._reading = wanted

    def _read(self, mask: int) -> None:
        size = min(LIMITS['chunkBytes'], self._channel.writable)
        if size <= 0:
            self._listen()
            return
        try:
            data = os.read(self._output, size)
        except BlockingIOError:
            return
        if data:
            self._channel.data(data)
            self._listen()
        else:
            self._finish()

    def _write(self, mask: int) -> None:
        try:
            while self._waiting:
                written = os.write(self._input, self._waiting)
                del self._waiting[:written]
                self._channel.grant(written)
        except BlockingIOError:
            pass
        except OSError:
            self._waiting.clear()
        wanted = bool(self._waiting)
        if wanted and not self._writing:
            self._loop.add(self._input, WRITE, self._write)
        elif not wanted and self._writing:
            self._loop.remove(self._input)
        self._writing = wanted

    def _take_result(self, mask: int) -> None:
        data = os.read(self._result, 65536)
        if data:
            self._told += data
        else:
            self._loop.remove(self._result)

    def _finish(self) -> None:
        while data := os.read(self._result, 65536):
            self._told += data
        try:
            outcome = loads(bytes(self._told))
        except ValueError:
            outcome = {'code': 'FILE_FAILED', 'problem': self._problem}
        self._release()
        if 'code' in outcome:
            self._channel.fail(outcome['code'], outcome['problem'])
        else:
            self._channel.end(outcome['end'])

    def _release(self) -> None:
        for fd in (self._output, self._input, self._result):
            self._loop.remove(fd)
            os.close(fd)
        pid, self._pid = self._pid, 0
        self._at_work.discard(self)
        self._reading = self._writing = False
        os.waitpid(pid, 0)
        self._let_go_on()

    def _let_go_on(self) -> None:
        if self._writers is not None:
            self._writers.go_on()
            self._writers = None


def _work(theirs: Sequence[int], operation: str, fields: Fields, user: Ids, home: bytes, held: list[int]) -> NoReturn:
    runner.reset_signals()
    # A file that becomes too large is an error like any other.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # When it is ended in the middle, it removes its temporary file.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM,))
    # What does not stop in time is in the middle of a long system call. A file that changes during the work on it is noticed.
    processes.wait_until_still(held, _STOPPING)
    for target, source in zip((_DATA_IN, _DATA_OUT, _RESULT, file_content.LOCK), runner.move_up((*theirs, _LOCK_FILE))):
        os.dup2(source, target)
    os.closerange(file_content.LOCK + 1, 1 << 20)
    runner.offer_to_out_of_memory_killer()
    file_operations.prepare(operation)
    uid, gid = user
    os.umask(0o022)
    if uid != os.geteuid():
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        # The effective id decides about access to files. The real one stays root, so that the guest cannot stop or kill this process.
        os.setresuid(0, uid, 0)
    outcome: Fields
    try:
        outcome = {'end': file_operations.perform(operation, fields, home, _DATA_IN, _DATA_OUT)}
    except Refused as refused:
        outcome = {'code': refused.code, 'problem': refused.problem}
    except Exception as error:
        outcome = {'code': 'FILE_FAILED', 'problem': repr(error)[:1000]}
    file_content.write_all(_RESULT, dumps(outcome).encode())
    os._exit(0)
