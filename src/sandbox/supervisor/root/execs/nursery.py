"""Makes runners ahead of their use, in a process of its own.

A fork copies every page that either side touches afterwards. The supervisor touches many with each message, so it does not fork for
commands: a lean child, split off before anything big was loaded, does, and hands over the descriptors."""

from __future__ import annotations

import errno
import marshal
import os
import struct

from root.execs import runner
from shared.lean_modules import signal, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.shapes import Environment, Ids

_DESCRIPTORS = struct.Struct('=5i')
_PID = struct.Struct('=i')
_ONE_MORE = b'+'
# With two, commands in quick succession find a runner ready, and do not wait for the one that is made after the end of the previous command.
_AHEAD = 2


class Spawned:
    """What the supervisor holds of a runner; all descriptors but `order` are non-blocking."""

    __slots__ = ('order', 'pid', 'status', 'stderr', 'stdin', 'stdout')

    def __init__(self, pid: int, descriptors: Sequence[int]) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr, self.status, self.order = descriptors

    def give(self, order: bytes) -> bool:
        """False when the runner died while it waited (out of memory); then nothing is left of it."""
        try:
            view = memoryview(struct.pack('>I', len(order)) + order)
            while view:
                view = view[os.write(self.order, view) :]
        except BrokenPipeError:
            for fd in (self.stdin, self.stdout, self.stderr, self.status, self.order):
                os.close(fd)
            return False
        os.close(self.order)
        return True


class Nursery:
    def __init__(self, user: Ids, contained: bool) -> None:
        self._user = user
        self._contained = contained
        self._socket: socket.socket
        self._pid = 0
        self._asked = 0
        self._split()

    def start(self, argv: list[bytes], cwd: bytes, env: Environment, open_stdin: bool, user: Ids | None = None, most: int | None = None) -> Spawned:
        """Returns the runner of a started exec, with `stdin` -1 when it was not asked for; raises `OSError` when nothing was started.
        `user` is another (uid, gid) than the nursery's, `most` the size that its files may have."""
        order = marshal.dumps((argv, cwd, env, open_stdin, user, most))
        spawned = self._give(order)
        if not open_stdin:
            os.close(spawned.stdin)
            spawned.stdin = -1
        return spawned

    def warm_up(self, ahead: int = _AHEAD) -> None:
        """Asks for the next runners, so that they are ready when they are needed."""
        while self._asked < ahead:
            self._ask()

    def leave(self) -> None:
        """For a fork of the supervisor that makes no commands: it no longer has what waits for the supervisor."""
        self._socket.close()

    def _give(self, order: bytes) -> Spawned:
        for _ in range(self._asked + 1):
            spawned = self._take()
            if spawned.give(order):
                return spawned
        raise OSError(errno.EPIPE, 'the runner ended')

    def _ask(self) -> None:
        try:
            self._socket.send(_ONE_MORE)
        except OSError:
            self._replace()
            self._socket.send(_ONE_MORE)
        self._asked += 1

    def _take(self) -> Spawned:
        # There may be room now, although there was none when they were made ahead.
        for _ in range(self._asked + 1):
            number, descriptors = self._answer()
            if descriptors:
                break
        else:
            raise OSError(number, os.strerror(number))
        for fd in descriptors[:4]:
            os.set_blocking(fd, False)
        return Spawned(number, descriptors)

    def _answer(self) -> tuple[int, tuple[int, ...]]:
        """The pid and the descriptors of a runner, or an error number and nothing."""
        if self._asked == 0:
            self._ask()
        data, ancillary = self._receive()
        if not data:
            self._replace()
            self._ask()
            data, ancillary = self._receive()
        self._asked -= 1
        number = _PID.unpack(data)[0] if data else errno.EPIPE
        return number, _DESCRIPTORS.unpack(ancillary[0][2]) if ancillary else ()

    def _receive(self) -> tuple[bytes, list[tuple[int, int, bytes]]]:
        """A pid with its descriptors, an error number without any, or nothing when the other process is gone."""
        try:
            data, ancillary, _, _ = self._socket.recvmsg(64, socket.CMSG_SPACE(_DESCRIPTORS.size), socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            return b'', []
        return data, ancillary

    def _replace(self) -> None:
        """Its process was killed (out of memory). Runners that it made live on."""
        self._socket.close()
        os.waitpid(self._pid, 0)
        self._split()

    def _split(self) -> None:
        self._asked = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _serve(theirs, self._user, self._contained)
            finally:
                os._exit(1)
        theirs.close()
        self._socket = ours


def _serve(asked: socket.socket, user: Ids, contained: bool) -> None:
    os.setsid()
    runner.reset_signals()
    # This process does not wait for the runners; the supervisor sees their end by their status pipe.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    kept = runner.move_up([asked.fileno()])[0]
    asked.close()
    os.closerange(3, kept)
    os.closerange(kept + 1, 1 << 20)
    asked = socket.socket(fileno=kept)
    runner.prepare(contained)
    while asked.recv(1):
        try:
            pid, descriptors = _make_runner(user)
        except OSError as error:
            asked.send(_PID.pack(error.errno))
            continue
        asked.sendmsg([_PID.pack(pid)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, _DESCRIPTORS.pack(*descriptors))])
        for fd in descriptors:
            os.close(fd)


def _make_runner(user: Ids) -> tuple[int, list[int]]:
    theirs: list[int] = []
    ours: list[int] = []
    try:
        for reads in (True, False, False, False, True):
            read, write = os.pipe()
            theirs.append(read if reads else write)
            ours.append(write if reads else read)
        pid = os.fork()
    except OSError:
        for fd in theirs + ours:
            os.close(fd)
        raise
    if pid == 0:
        try:
            runner.run(theirs, user)
        finally:
            os._exit(127)
    for fd in theirs:
        os.close(fd)
    return pid, ours
