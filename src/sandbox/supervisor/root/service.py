"""Answers the worker: its connections, and the operations."""

from __future__ import annotations

import gc
import os

from root.connection import Connection
from root.disk_guard import DiskGuard
from root.disk_writers import Writers
from root.execs.executions import Executions
from root.execs.journal import Journal, timestamp
from root.execs.users import User, Users
from root.loop import READ, Loop
from root.methods import Methods
from shared.lean_json import loads
from shared.lean_modules import accept, signal, socket
from shared.protocol import LIMITS, VERSION, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Callable

    from root.connection import Channel
    from root.execs.nursery import Nursery
    from root.file_work import FileWork
    from root.ports import Ports
    from root.tunnels import Tunnels
    from shared.shapes import Fields, Ids

# Of the sandbox's own user, whatever the account is called where there is no container.
_OWN_NAME = 'user'
_PATHS = ('path', 'from', 'to', 'cwd', 'pattern')

# How long to wait for the ends of killed commands when the sandbox is stopped.
_FAREWELL = 1.0


class Supervisor:
    def __init__(self, options: dict[str, str], user: Ids, nursery: Nursery, stream: tuple[int, int] | None) -> None:
        """`stream`: the descriptors of a connection that exists from the start, for reading and for writing; or None."""
        self._loop = Loop()
        self._listener = _listen(options['--socket'])
        self._path = options['--socket']
        self._home = os.fsencode(options['--home'])
        self._home_name = options['--home-name']
        self._user = user
        self._nursery = nursery
        self._connections: set[Connection] = set()
        self._stopping = False
        methods = self._methods = Methods(options['--methods'], self._loop)
        users = Users(User(_OWN_NAME, user, self._home), contained=not self._home_name)
        executions = Executions(Journal(options['--journal']), self._loop, nursery, users, methods, loads(options['--environment']))
        self._executions = executions
        self._file_works: set[FileWork] = set()
        self._writers = Writers(executions, self._file_works)
        # Beside the journal, so that copies and archives of the volume have it.
        self._checkpoints = os.path.join(os.path.dirname(options['--journal']), 'checkpoints')
        self._disk_guard = DiskGuard(self._loop, self._writers, options['--journal'], self._checkpoints, users.all, nursery)
        executions.before_start = self._disk_guard.largest_file
        self._tunnels: Tunnels | None = None
        self._ports: Ports | None = None
        self._fence = 0
        self._hello = {'version': VERSION, 'supervisorId': os.urandom(12).hex(), 'bootedAt': timestamp()}
        self._operations: dict[str, Callable[[Channel, Fields], object]] = {
            'hello': self._greet,
            'ping': lambda channel, fields: channel.end({}),
            'run': executions.run,
            'start': executions.start,
            'attach': executions.attach,
            'input': executions.input,
            'signal': executions.signal,
            'list': executions.list,
            'info': executions.info,
            'forget': executions.forget,
            'calls': executions.calls,
            'hold': executions.hold,
            'answer': executions.answer,
            'conclude': executions.conclude,
            'tunnel.serve': lambda channel, fields: self._need_tunnels().serve(channel, fields),
            'tunnel.accept': lambda channel, fields: self._need_tunnels().accept(channel, fields),
            'port.connect': self._connect_port,
        }
        self._loop.add(self._listener.fileno(), READ, self._accept)
        self._listen_for_stop()
        if stream is not None:
            self._connect(*stream)

    def serve(self) -> None:
        """Returns after a request to stop, when every command is ended and recorded as lost."""
        loop, executions, disk_guard = self._loop, self._executions, self._disk_guard
        # Pages that the collector never touches stay shared with the children that work on files.
        gc.freeze()
        gc.enable()
        # The first command should not have to share the processors with more of them.
        self._nursery.warm_up(1)
        while not self._stopping:
            tunnels = self._tunnels
            loop.step(_earliest(executions.due(), None if tunnels is None else tunnels.due(), disk_guard.due(), self._methods.due()), executions.running)
            executions.on_time()
            if tunnels is not None:
                loop.attempt(tunnels.on_time)
            loop.attempt(self._methods.on_time)
            loop.attempt(disk_guard.on_time)
        executions.cut_off()
        limit = loop.now() + _FAREWELL
        while executions.running and loop.now() < limit:
            loop.step(min(limit, executions.due() or limit), True)
            executions.on_time()
        os.unlink(self._path)

    def _greet(self, channel: Channel, fields: Fields) -> None:
        # Processes that were restored in another container learn its number here: it is higher than that of the one before.
        fence = fields.get('fence', 0)
        if 0 < fence < self._fence:
            raise Refused('SUPERSEDED', f'its supervisor is that of container number {self._fence}, not {fence}')
        self._fence = max(fence, self._fence)
        self._disk_guard.limit = fields.get('diskBytes', self._disk_guard.limit)
        channel.end({**self._hello, 'fence': fence} if fence else self._hello)

    def _handle(self, channel: Channel, operation: str, fields: Fields) -> None:
        if self._stopping:
            raise Refused('INTERNAL', 'the sandbox is being stopped')
        if self._home_name:
            self._find_home(fields)
        perform = self._operations.get(operation)
        if perform is not None:
            perform(channel, fields)
            return
        # Not at the top, because the start of a sandbox would take longer.
        from as_guest.file_operations import ON_CHECKPOINTS, TAKING_DATA
        from root.file_work import FileWork

        if operation in TAKING_DATA:
            self._disk_guard.refuse_if_over()
        if operation in ON_CHECKPOINTS:
            fields.update(store=self._checkpoints, diskBytes=self._disk_guard.limit)
        FileWork(channel, self._loop, operation, fields, self._user, self._home, self._file_works, self._writers)

    def _need_tunnels(self) -> Tunnels:
        if self._tunnels is None:
            from root.tunnels import Tunnels

            self._tunnels = Tunnels(self._loop, self._executions.base_env)
        return self._tunnels

    def _connect_port(self, channel: Channel, fields: Fields) -> None:
        if self._home_name:
            # The ports of this machine belong to all of its programs.
            raise Refused('PORT_CLOSED', 'a sandbox without a container has no ports of its own')
        if self._ports is None:
            from root.ports import Ports

            self._ports = Ports(self._loop)
        self._ports.connect(channel, fields, 0 if self._tunnels is None else self._tunnels.port)

    def _find_home(self, fields: Fields) -> None:
        for name in _PATHS:
            value = fields.get(name, '')
            if value == self._home_name or value.startswith(self._home_name + '/'):
                fields[name] = os.fsdecode(self._home) + value[len(self._home_name) :]

    def _accept(self, mask: int) -> None:
        try:
            source = accept(self._listener)
        except OSError:
            return
        try:
            if len(self._connections) < LIMITS['connections']:
                self._connect(source, os.dup(source))
                return
        except OSError:
            pass
        os.close(source)

    def _connect(self, source: int, sink: int) -> None:
        self._connections.add(Connection(source, sink, self._loop, self._handle, self._connections.discard))

    def _listen_for_stop(self) -> None:
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        self._loop.add(read, READ, lambda mask: os.read(read, 64))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True


def _earliest(*times: float | None) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _listen(path: str) -> socket.socket:
    """Only root can reach the socket: its directory is closed to all others."""
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.chmod(directory, 0o700)
    new = path + '.new'
    for name in (path, new):
        if os.path.exists(name):
            os.unlink(name)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    os.umask(0o077)
    listener.bind(new)
    os.umask(0o022)
    listener.listen(64)
    # A user that can see the socket can connect to it.
    os.rename(new, path)
    return listener
