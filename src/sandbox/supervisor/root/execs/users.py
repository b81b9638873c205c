"""The users that commands may run as: the sandbox's own user, and those that its image declares with a home below /home."""

from __future__ import annotations

import os

from shared.protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.shapes import Environment, Ids

_PASSWD = '/etc/passwd'
# System accounts have lower ids; `nobody` and similar accounts have higher ones.
_UIDS = range(1000, 60_000)


class User:
    __slots__ = ('home', 'ids', 'name')

    def __init__(self, name: str, ids: Ids, home: bytes) -> None:
        self.name = name
        self.ids = ids
        self.home = home

    @property
    def env(self) -> Environment:
        return {b'HOME': self.home, b'USER': self.name.encode(), b'LOGNAME': self.name.encode()}


class Users:
    """Only root can write where users are declared, so it is read once."""

    def __init__(self, own: User, contained: bool) -> None:
        self.own = own
        others = _declared() if contained else ()
        self._by_name = {own.name: own, **{user.name: user for user in others if user.ids != own.ids}}
        for user in self.all:
            _make_home(user)

    @property
    def all(self) -> tuple[User, ...]:
        """The own user comes first."""
        return tuple(self._by_name.values())

    def find(self, name: str) -> User:
        user = self._by_name.get(name)
        if user is None:
            raise Refused('USER_NOT_FOUND', ', '.join(self._by_name))
        return user


def _declared() -> Iterator[User]:
    with open(_PASSWD, encoding='utf-8', errors='replace') as file:
        lines = [line.rstrip('\n').split(':') for line in file]
    for fields in lines:
        if len(fields) == 7 and fields[2].isdecimal() and fields[3].isdecimal():
            ids = (int(fields[2]), int(fields[3]))
            home = fields[5]
            if ids[0] in _UIDS and ids[1] in _UIDS and os.path.dirname(home) == '/home':
                yield User(fields[0], ids, os.fsencode(home))


def _make_home(user: User) -> None:
    """A volume that is older than the image lacks the homes of newer users."""
    try:
        os.mkdir(user.home, 0o755)
        os.chown(user.home, *user.ids)
    except OSError:
        # It exists already. Or there is no space left, and commands get an error that they cannot enter it.
        pass
