"""Answers the worker: one listening socket, its connections, and the operations."""

import gc
import json
import os
import signal

import _socket
import file_operations
from connection import Connection
from disk_guard import DiskGuard
from executions import Executions
from file_work import FileWork
from journal import Journal, timestamp
from loop import READ, Loop
from methods import Methods
from protocol import LIMITS, VERSION, Refused
from tunnels import Tunnels
from users import User, Users

# Of the sandbox's own user, whatever the account is called where there is no container.
_OWN_NAME = 'user'
_PATHS = ('path', 'from', 'to', 'cwd', 'pattern')

# How long the ends of killed commands are waited for when the sandbox is stopped.
_FAREWELL = 1.0


class Supervisor:
    def __init__(self, options, user, nursery):
        self._loop = Loop()
        self._listener = _listen(options['--socket'])
        self._path = options['--socket']
        self._home = os.fsencode(options['--home'])
        self._home_name = options['--home-name']
        self._user = user
        self._nursery = nursery
        self._connections = set()
        self._stopping = False
        methods = Methods(options['--methods'], self._loop)
        users = Users(User(_OWN_NAME, user, self._home), contained=not self._home_name)
        executions = Executions(Journal(options['--journal']), self._loop, nursery, users, methods, json.loads(options['--environment']))
        self._executions = executions
        self._disk_guard = DiskGuard(self._loop, executions, options['--journal'], users.all)
        self._tunnels = Tunnels(self._loop, executions.base_env)
        self._hello = {'version': VERSION, 'supervisorId': os.urandom(12).hex(), 'bootedAt': timestamp()}
        self._operations = {
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
            'tunnel.serve': self._tunnels.serve,
            'tunnel.accept': self._tunnels.accept,
        }
        self._loop.add(self._listener.fileno(), READ, self._accept)
        self._listen_for_stop()

    def serve(self):
        """Returns when told to stop, with every command cut off and recorded as lost."""
        loop, executions, tunnels, disk_guard = self._loop, self._executions, self._tunnels, self._disk_guard
        # Pages that the collector never touches stay shared with the children that work on files.
        gc.collect()
        gc.freeze()
        self._nursery.warm_up()
        while not self._stopping:
            loop.step(_earliest(executions.due(), tunnels.due(), disk_guard.due()), executions.running)
            executions.on_time(loop.active)
            tunnels.on_time(loop.active)
            disk_guard.on_time(loop.active)
        executions.cut_off()
        limit = loop.now() + _FAREWELL
        while executions.running and loop.now() < limit:
            loop.step(min(limit, executions.due() or limit), True)
            executions.on_time(loop.active)
        os.unlink(self._path)

    def _greet(self, channel, fields):
        self._disk_guard.limit = fields.get('diskBytes', self._disk_guard.limit)
        channel.end(self._hello)

    def _handle(self, channel, operation, fields):
        if self._stopping:
            raise Refused('INTERNAL', 'the sandbox is being stopped')
        if self._home_name:
            self._find_home(fields)
        if operation in file_operations.NAMES:
            FileWork(channel, self._loop, operation, fields, self._user, self._home)
        else:
            self._operations[operation](channel, fields)

    def _find_home(self, fields):
        for name in _PATHS:
            value = fields.get(name, '')
            if value == self._home_name or value.startswith(self._home_name + '/'):
                fields[name] = os.fsdecode(self._home) + value[len(self._home_name) :]

    def _accept(self, mask):
        try:
            fd, _ = self._listener._accept()
        except OSError:
            return
        accepted = _socket.socket(fileno=fd)
        if len(self._connections) >= LIMITS['connections']:
            accepted.close()
            return
        self._connections.add(Connection(accepted, self._loop, self._handle, self._connections.discard))

    def _listen_for_stop(self):
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        self._loop.add(read, READ, lambda mask: os.read(read, 64))

    def _stop(self, number, frame):
        self._stopping = True


def _earliest(*times):
    return min((time for time in times if time is not None), default=None)


def _listen(path):
    """Only root may come near the socket: its directory is closed to all others."""
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.chmod(directory, 0o700)
    new = path + '.new'
    for name in (path, new):
        if os.path.exists(name):
            os.unlink(name)
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC)
    os.umask(0o077)
    listener.bind(new)
    os.umask(0o022)
    listener.listen(64)
    # Who sees the socket can connect to it.
    os.rename(new, path)
    return listener
