"""All execs of the sandbox, running and journalled; an id is run at most once."""

from __future__ import annotations

import os

from root.execs import command
from root.execs.execution import Execution
from root.execs.follow import Follower
from root.execs.journal import timestamp
from root.execs.memory import MemoryKills
from root.execs.records import Records
from root.execs.server_request import ServerRequest
from root.execs.stdin import Stdin
from root.execs.tree import Tree
from root.lines import Lines
from root.methods import Answer
from shared.lean_json import dumps
from shared.lean_modules import signal
from shared.protocol import LIMITS, Refused, to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from root.connection import Channel
    from root.execs.journal import Journal
    from root.execs.nursery import Nursery
    from root.execs.users import User, Users
    from root.loop import Loop
    from root.methods import Desk, Methods
    from shared.shapes import Body, Environment, Fields

    # In the class itself, `list` is the operation.
    _Pids = list[int]

_SIGNALS = {name: getattr(signal, name) for name in ('SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGSTOP', 'SIGCONT')}

_GRACE_OF_CALL = 15.0


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
        """The environment of every command; the command's own variables override it."""
        self._memory_kills = MemoryKills()
        self.before_start: Callable[[], int | None] = lambda: None
        """Says how large the files of a command may become, where they may not be what the container lets them be."""
        self._live: dict[str, Execution] = {}
        """Those of which something runs: the command, or what it left in the background."""
        self._records = Records(journal, self._live)

    @property
    def running(self) -> bool:
        return bool(self._live)

    def due(self) -> float | None:
        times = [execution.due for execution in self._live.values() if execution.due is not None]
        return min(times) if times else None

    def on_time(self) -> None:
        for execution in tuple(self._live.values()):
            if execution.due is not None and self._loop.active >= execution.due:
                self._loop.attempt(execution.on_due)

    def run(self, channel: Channel, fields: Fields) -> None:
        """Starts and follows in one operation."""
        self._claim_and_start(fields)
        self.attach(channel, fields)

    def start(self, channel: Channel, fields: Fields) -> None:
        self._claim_and_start(fields)
        channel.end(self._records.info(fields['execId']))

    def attach(self, channel: Channel, fields: Fields) -> None:
        exec_id = fields['execId']
        source = self._live.get(exec_id) or self._records.recorded(exec_id)
        channel.reply_later({'startedAt': self._records.started_at(exec_id)})
        follower = Follower(channel, source, fields)
        if isinstance(source, Execution):
            source.followers.append(follower)
        follower.advance()

    def input(self, channel: Channel, fields: Fields) -> None:
        execution = self._live.get(fields['execId'])
        if execution is None or execution.exit is not None:
            self._records.require(fields['execId'])
            channel.reply({'accepted': fields['size']})
            channel.end({})
        elif execution.stdin is None:
            raise Refused('INVALID_ARGUMENT', f"{fields['execId']} was started without stdin; start it with stdin: 'open' to write to it")
        else:
            execution.stdin.add(channel, fields)

    def signal(self, channel: Channel, fields: Fields) -> None:
        execution = self._live.get(fields['execId'])
        if execution is None:
            self._records.require(fields['execId'])
        channel.end({'signalled': execution is not None and execution.signal(_SIGNALS[fields['signal']])})

    def list(self, channel: Channel, fields: Fields) -> None:
        # A journal of very many execs does not fit into one window, so it is sent like any other output.
        lines = [dumps(self._records.info(exec_id)).encode() + b'\n' for exec_id in self._journal.ids()]
        Lines(channel, b''.join(lines)).on_credit()

    def info(self, channel: Channel, fields: Fields) -> None:
        self._records.require(fields['execId'])
        channel.end(self._records.info(fields['execId']))

    def forget(self, channel: Channel, fields: Fields) -> None:
        exec_id = fields['execId']
        self._records.require(exec_id)
        execution = self._live.get(exec_id)
        if execution is not None:
            if not execution.leaves_nothing:
                raise Refused('INVALID_ARGUMENT', f'{exec_id} still has running processes; end them first with kill')
            del self._live[exec_id]
        self._records.remove(exec_id)
        channel.end({})

    def calls(self, channel: Channel, fields: Fields) -> None:
        """Sends the calls of tools that the exec's code makes, those without an answer first, until the exec ends."""
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
        self._records.require(fields['execId'])
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
        command.check(fields)
        user = self._users.find(fields['user']) if 'user' in fields else self._users.own
        self._records.save_again()
        given = command.fingerprint(fields)
        running = sum(execution.exit is None for execution in self._live.values())
        if running >= LIMITS['runningExecs'] and not self._journal.exists(exec_id):
            raise Refused('EXEC_FAILED', f'{running} commands run already')
        claim = self._journal.claim(exec_id)
        if claim is None:
            spec = self._records.spec(exec_id)
            if spec is not None and spec['fingerprint'] != given:
                raise Refused('EXEC_MISMATCH', exec_id)
            return
        self._journal.begin_life()
        spec = {name: fields[name] for name in ('timeoutMs', 'maxOutputBytes')}
        spec.update(fingerprint=given, command=command.shown(fields), startedAt=timestamp())
        try:
            execution = self._launch(exec_id, fields, spec, user)
        except Refused:
            claim.close()
            self._journal.remove(exec_id)
            raise
        self._live[exec_id] = execution
        try:
            # Only now, while the command starts already; its end cannot be missed, since this loop handles it later.
            execution.keep(*claim.keep(spec))
        except OSError:
            execution.keep_no_more()
        # For a short command it is done after its end: forks would take processor time from both.
        self._loop.later(self._prepare)

    def _prepare(self) -> None:
        """Makes ahead what the next exec needs."""
        self._nursery.warm_up()
        self._journal.prepare()

    def _launch(self, exec_id: str, fields: Fields, spec: Fields, user: User) -> Execution:
        desk = self._methods.open_desk() if fields.get('methods') else None
        tools = {} if desk is None else command.tools_environment(self._methods.path, desk)
        env = {**self.base_env, **user.env, **tools, **{to_bytes(name): to_bytes(value) for name, value in fields['env'].items()}}
        try:
            body = self._body_of(fields, env, user)
        except OSError as error:
            if desk is not None:
                self._methods.close_desk(desk)
            raise Refused(
                'EXEC_FAILED', f'the sandbox has no room for another process ({error.strerror}); end some, or give the sandbox more pids or memoryMb'
            ) from error
        stdin = Stdin(self._loop) if fields['stdin'] == 'open' else None
        execution = Execution(exec_id, spec, body, stdin, self._journal, self._loop, self._on_end, self._on_gone, self._memory_kills)
        if fields.get('program') == 'call':
            # It ends its context first where that is necessary, even on a busy machine: without it, the code would run on.
            execution.grace = _GRACE_OF_CALL
        if desk is not None:
            execution.desk = desk
            desk.on_hold = execution.hold_clock
        return execution

    def _body_of(self, fields: Fields, env: Environment, user: User) -> Body:
        cwd = os.path.join(user.home, to_bytes(fields['cwd']))
        if fields.get('program') == 'mcp-call':
            return ServerRequest(to_bytes(fields['argv'][0]), cwd, env, user.ids, self._loop)
        most = self.before_start()
        spawned = self._nursery.start(command.argv_of(fields), cwd, env, fields['stdin'] == 'open', user.ids if 'user' in fields else None, most)
        return Tree(spawned, most is None, self._loop)

    def _desk(self, exec_id: str) -> Desk | None:
        self._records.require(exec_id)
        execution = self._live.get(exec_id)
        return execution.desk if execution is not None and execution.exit is None else None

    def _on_end(self, execution: Execution, record: Fields) -> None:
        if execution.desk is not None:
            self._methods.close_desk(execution.desk)
        self._records.save(execution, record)

    def _on_gone(self, execution: Execution) -> None:
        # After the worker has been sent the end.
        self._loop.after_events(self._prepare)
        # A forgotten id may have been given to another by now.
        if self._live.get(execution.id) is execution:
            del self._live[execution.id]
