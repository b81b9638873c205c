"""All execs of the sandbox, running and journalled; an id is run once for ever."""

from __future__ import annotations

import os

from root.execs.execution import Execution
from root.execs.follow import Follower, Recorded
from root.execs.journal import timestamp
from root.execs.memory import MemoryKills
from root.execs.stdin import Stdin
from root.lines import Lines
from root.methods import Answer
from shared.lean_json import dumps
from shared.lean_modules import signal
from shared.protocol import LIMITS, Refused, to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
    from typing import Callable

    from root.connection import Channel
    from root.execs.journal import Journal
    from root.execs.nursery import Nursery
    from root.execs.users import User, Users
    from root.loop import Loop
    from root.methods import Desk, Methods
    from shared.shapes import Environment, Fields

    # In the class itself, `list` is the operation.
    _Pids = list[int]
else:
    try:
        from _sha256 import sha256
    except ImportError:
        try:  # its name since Python 3.12
            from _sha2 import sha256
        except ImportError:
            from hashlib import sha256

_SIGNALS = {name: getattr(signal, name) for name in ('SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGSTOP', 'SIGCONT')}
_SHOWN = 1000
_GUEST = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(os.fsencode(__file__))))), b'guest')
_LIBRARY = os.path.join(_GUEST, b'library')
_PROGRAMS = {
    'terminal': (b'/usr/bin/env', b'python3', b'-I', b'-S', b'-B', os.path.join(_GUEST, b'terminal.py')),
    'python': (b'/usr/bin/env', b'python3', os.path.join(_GUEST, b'interpreter.py')),
    'javascript': (b'/usr/bin/env', b'node', b'--no-warnings', os.path.join(_GUEST, b'interpreter.cjs')),
    'call': (b'/usr/bin/env', b'python3', b'-I', b'-S', b'-B', os.path.join(_GUEST, b'interpreter_call.py')),
    'mcp': (b'/usr/bin/env', b'python3', b'-I', b'-S', b'-B', os.path.join(_GUEST, b'mcp_server.py')),
    'mcp-call': (b'/usr/bin/env', b'python3', b'-I', b'-S', b'-B', os.path.join(_GUEST, b'mcp_call.py')),
    # What the code of a tool prints goes to stderr: stdout is for what it tells the worker.
    'tool': (b'/bin/sh', b'-c', b'exec node --no-warnings "$0" 3>&1 1>&2', os.path.join(_LIBRARY, b'run_tool.cjs')),
}
"""Programs of ours that run as the guest."""


class Executions:
    def __init__(self, journal: Journal, loop: Loop, nursery: Nursery, users: Users, methods: Methods, environment: dict[str, str]) -> None:
        self._journal = journal
        self._loop = loop
        self._nursery = nursery
        self._users = users
        self._methods = methods
        self.base_env = {
            b'PATH': b'/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
            **users.own.env,
            b'SHELL': b'/bin/bash',
            b'LANG': b'C.UTF-8',
            **{os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
        }
        """Of every command; what a command brings itself comes before it."""
        self._memory_kills = MemoryKills()
        self.before_start: Callable[[], int | None] = lambda: None
        """Says how large the files of a command may become, where they may not be what the container lets them be."""
        self._live: dict[str, Execution] = {}
        """Those of which something runs: the command, or what it left in the background."""
        self._unsaved: dict[str, Fields] = {}
        """Ended ones whose end did not fit on the volume."""

    @property
    def running(self) -> bool:
        return bool(self._live)

    def due(self) -> float | None:
        times = [execution.due for execution in self._live.values() if execution.due is not None]
        return min(times) if times else None

    def on_time(self, now: float) -> None:
        for execution in tuple(self._live.values()):
            if execution.due is not None and now >= execution.due:
                execution.on_due(now)

    def run(self, channel: Channel, fields: Fields) -> None:
        """Starts and follows in one go."""
        self._claim_and_start(fields)
        self.attach(channel, fields)

    def start(self, channel: Channel, fields: Fields) -> None:
        self._claim_and_start(fields)
        channel.end(self._info(fields['execId']))

    def attach(self, channel: Channel, fields: Fields) -> None:
        exec_id = fields['execId']
        source = self._live.get(exec_id) or self._recorded(exec_id)
        channel.reply_later({'startedAt': self._started_at(exec_id)})
        follower = Follower(channel, source, fields)
        if isinstance(source, Execution):
            source.followers.append(follower)
        follower.advance()

    def input(self, channel: Channel, fields: Fields) -> None:
        execution = self._live.get(fields['execId'])
        if execution is None or execution.exit is not None:
            self._require(fields['execId'])
            channel.reply({'accepted': fields['size']})
            channel.end({})
        elif execution.stdin is None:
            raise Refused('INVALID_ARGUMENT', f"{fields['execId']} was started without stdin; start it with stdin: 'open' to write to it")
        else:
            execution.stdin.add(channel, fields)

    def signal(self, channel: Channel, fields: Fields) -> None:
        execution = self._live.get(fields['execId'])
        if execution is None:
            self._require(fields['execId'])
        channel.end({'signalled': execution is not None and execution.signal(_SIGNALS[fields['signal']])})

    def list(self, channel: Channel, fields: Fields) -> None:
        # A journal of very many execs does not fit into one window, so it is sent like any other output.
        lines = [dumps(self._info(exec_id)).encode() + b'\n' for exec_id in self._journal.ids()]
        Lines(channel, b''.join(lines)).on_credit()

    def info(self, channel: Channel, fields: Fields) -> None:
        self._require(fields['execId'])
        channel.end(self._info(fields['execId']))

    def forget(self, channel: Channel, fields: Fields) -> None:
        exec_id = fields['execId']
        self._require(exec_id)
        execution = self._live.get(exec_id)
        if execution is not None:
            if not execution.leaves_nothing:
                raise Refused('INVALID_ARGUMENT', f'{exec_id} still has running processes; end them first with kill')
            del self._live[exec_id]
        self._unsaved.pop(exec_id, None)
        self._journal.remove(exec_id)
        channel.end({})

    def calls(self, channel: Channel, fields: Fields) -> None:
        """Tells the calls of tools that the exec's code makes, those without an answer first, until the exec ends."""
        desk = self._desk(fields['execId'])
        if desk is None:
            channel.end({})
        else:
            desk.follow(channel)

    def hold(self, channel: Channel, fields: Fields) -> None:
        desk = self._desk(fields['execId'])
        channel.end({'held': 0 if desk is None else desk.hold(fields['number'])})

    def answer(self, channel: Channel, fields: Fields) -> None:
        desk = self._desk(fields['execId'])
        if desk is None:
            channel.reply({'accepted': fields['size']})
            channel.end({})
        else:
            Answer(channel, desk, fields)

    def conclude(self, channel: Channel, fields: Fields) -> None:
        """Ends the exec at a call, as that call's tool wants it; nothing of its code runs after it."""
        self._require(fields['execId'])
        execution = self._live.get(fields['execId'])
        if execution is not None:
            execution.conclude(fields['number'])
        channel.end({})

    def cut_off(self) -> None:
        """The sandbox is being stopped."""
        for execution in tuple(self._live.values()):
            execution.cut_off()

    def hold_still(self) -> _Pids:
        return [pid for execution in self._live.values() for pid in execution.hold_still()]

    def stop_writers(self) -> None:
        for execution in tuple(self._live.values()):
            execution.stop_for_disk()

    def _claim_and_start(self, fields: Fields) -> None:
        exec_id = fields['execId']
        if ('command' in fields) == ('argv' in fields or 'program' in fields):
            raise Refused('INVALID_ARGUMENT', 'either command or argv has to be given')
        user = self._users.find(fields['user']) if 'user' in fields else self._users.own
        if self._unsaved:
            self._save_unsaved()
        given = _fingerprint(fields)
        running = sum(execution.exit is None for execution in self._live.values())
        if running >= LIMITS['runningExecs'] and not self._journal.exists(exec_id):
            raise Refused('EXEC_FAILED', f'{running} commands run already')
        if not self._journal.claim(exec_id):
            execution = self._live.get(exec_id)
            spec = execution.spec if execution else self._journal.read_spec(exec_id)
            if spec is not None and spec['fingerprint'] != given:
                raise Refused('EXEC_MISMATCH', exec_id)
            return
        self._journal.begin_life()
        spec = {name: fields[name] for name in ('timeoutMs', 'maxOutputBytes')}
        spec.update(fingerprint=given, command=_shown(fields), startedAt=timestamp())
        execution = self._launch(exec_id, fields, spec, user)
        self._live[exec_id] = execution
        try:
            # Only now, so that the command starts meanwhile; it cannot end unseen, since this loop is busy here.
            execution.outputs, execution.exit_file = self._journal.create_files(exec_id, spec)
        except OSError:
            execution.keep_no_more()
        # For a short command the next runner is made after its end: forks would take processor time from both.
        self._loop.later(self._nursery.warm_up)

    def _launch(self, exec_id: str, fields: Fields, spec: Fields, user: User) -> Execution:
        if 'command' in fields:
            argv = [b'/bin/bash', b'-c', to_bytes(fields['command'])]
        else:
            argv = [*_PROGRAMS.get(fields.get('program', ''), ()), *(to_bytes(item) for item in fields.get('argv', ()))]
        desk = self._methods.open_desk() if fields.get('methods') else None
        env = {**self.base_env, **user.env, **self._env_of(desk), **{to_bytes(name): to_bytes(value) for name, value in fields['env'].items()}}
        cwd = os.path.join(user.home, to_bytes(fields['cwd']))
        most = self.before_start()
        try:
            spawned = self._nursery.start(argv, cwd, env, fields['stdin'] == 'open', user.ids if 'user' in fields else None, most)
        except OSError as error:
            self._journal.remove(exec_id)
            if desk is not None:
                self._methods.close_desk(desk)
            raise Refused(
                'EXEC_FAILED', f'the sandbox has no room for another process ({error.strerror}); end some, or give the sandbox more pids or memoryMb'
            ) from error
        execution = Execution(exec_id, spec, spec['startedAt'], spawned, self._journal, self._loop, self._on_end, self._on_gone, self._memory_kills)
        execution.may_write = most is None
        if desk is not None:
            execution.desk = desk
            desk.on_hold = execution.hold_clock
        if spawned.stdin >= 0:
            execution.stdin = Stdin(spawned.stdin, self._loop)
        return execution

    def _env_of(self, desk: Desk | None) -> Environment:
        if desk is None:
            return {}
        return {
            b'LONGSHORE_TOOLS': os.fsencode(self._methods.path),
            b'LONGSHORE_TOOLS_TOKEN': desk.token.encode(),
            b'LONGSHORE_GUEST': _LIBRARY,
            b'PYTHONPATH': _LIBRARY,
        }

    def _desk(self, exec_id: str) -> Desk | None:
        self._require(exec_id)
        execution = self._live.get(exec_id)
        return execution.desk if execution is not None and execution.exit is None else None

    def _on_end(self, execution: Execution, record: Fields) -> None:
        if execution.desk is not None:
            self._methods.close_desk(execution.desk)
        if not self._journal.write_exit(execution.exit_file, record):
            self._unsaved[execution.id] = record

    def _on_gone(self, execution: Execution) -> None:
        self._nursery.warm_up()
        # A forgotten id may have been given to another by now.
        if self._live.get(execution.id) is execution:
            del self._live[execution.id]

    def _save_unsaved(self) -> None:
        """Tries again what did not fit on the volume."""
        for exec_id in tuple(self._unsaved):
            try:
                fd = self._journal.create_exit(exec_id)
            except OSError:
                return
            if not self._journal.write_exit(fd, self._unsaved[exec_id]):
                return
            del self._unsaved[exec_id]

    def _require(self, exec_id: str) -> None:
        if exec_id not in self._live and not self._journal.exists(exec_id):
            raise Refused('EXEC_NOT_FOUND', exec_id)

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

    def _recorded(self, exec_id: str) -> Recorded:
        self._require(exec_id)
        return Recorded(self._journal, exec_id, self._exit(exec_id))

    def _started_at(self, exec_id: str) -> str:
        execution = self._live.get(exec_id)
        spec = execution.spec if execution else self._journal.read_spec(exec_id)
        started_at: str = spec['startedAt'] if spec else ''
        return started_at

    def _info(self, exec_id: str) -> Fields:
        execution = self._live.get(exec_id)
        spec = execution.spec if execution else self._journal.read_spec(exec_id)
        paths = {'stdoutPath': self._journal.path(exec_id, 'stdout'), 'stderrPath': self._journal.path(exec_id, 'stderr')}
        info = {**paths, 'execId': exec_id, 'command': spec['command'] if spec else '', 'startedAt': spec['startedAt'] if spec else ''}
        if execution is not None and execution.exit is None:
            return {**info, 'state': 'running', 'stdoutBytes': execution.total[0], 'stderrBytes': execution.total[1]}
        record = (execution.exit if execution is not None else None) or self._exit(exec_id)
        info['state'] = 'lost' if record['status'] == 'lost' else 'ended'
        if info['state'] == 'lost' and self._journal.is_past(spec):
            info['past'] = True
        return {**info, 'stdoutBytes': record['stdoutBytes'], 'stderrBytes': record['stderrBytes'], 'exit': record}


def _fingerprint(fields: Fields) -> str:
    """What makes two starts the same command. Values of the environment are in it and cannot be read from it."""
    told = [fields.get('command'), fields.get('argv'), fields['cwd'], sorted(fields['env'].items()), fields['stdin']]
    # Only what is given, so that commands of earlier versions keep theirs.
    told += [fields[name] for name in ('program', 'user') if name in fields]
    return sha256(dumps(told).encode()).hexdigest()


def _shown(fields: Fields) -> str:
    command: str | None = fields.get('command')
    if command is not None:
        return command[:_SHOWN]
    return ' '.join([*([fields['program']] if 'program' in fields else []), *fields.get('argv', ())])[:_SHOWN]
