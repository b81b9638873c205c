"""Values that a plugin keeps: of a conversation, of a user, or of all."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from longshore_host.calls import current
from longshore_nekro.calling import caller_of

if TYPE_CHECKING:
    from pathlib import Path

_TABLE = 'CREATE TABLE IF NOT EXISTS entries (chat TEXT, user TEXT, name TEXT, value TEXT, PRIMARY KEY (chat, user, name))'
_WHERE = 'chat = ? AND user = ? AND name = ?'


class PluginStore:
    """`set` returns 0 for a new entry and 1 for a changed one, `delete` 0 for a deleted one and 1 when there was none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None

    async def get(self, chat_key: str = '', user_key: str = '', store_key: str = '') -> str | None:
        row = self._open().execute(f'SELECT value FROM entries WHERE {_WHERE}', _keys(chat_key, user_key, store_key)).fetchone()
        return None if row is None else str(row[0])

    async def set(self, chat_key: str = '', user_key: str = '', store_key: str = '', value: str = '') -> int:
        if not isinstance(value, str):
            raise TypeError(f'the store keeps texts, and this is a {type(value).__name__}; use json.dumps')
        keys = _keys(chat_key, user_key, store_key)
        with self._open() as opened:
            changed = opened.execute(f'UPDATE entries SET value = ? WHERE {_WHERE}', (value, *keys)).rowcount
            if changed == 0:
                opened.execute('INSERT INTO entries VALUES (?, ?, ?, ?)', (*keys, value))
        return 1 if changed else 0

    async def delete(self, chat_key: str = '', user_key: str = '', store_key: str = '') -> int:
        with self._open() as opened:
            return 0 if opened.execute(f'DELETE FROM entries WHERE {_WHERE}', _keys(chat_key, user_key, store_key)).rowcount else 1

    def _open(self) -> sqlite3.Connection:
        if self._opened is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # A process of an older version may write at the same time, until its calls have ended.
            self._opened = sqlite3.connect(self._path, timeout=30, check_same_thread=False)
            self._opened.execute(_TABLE)
        return self._opened


def _keys(chat_key: str, user_key: str, store_key: str) -> tuple[str, str, str]:
    call = current.get()
    if call is not None:
        # The model may have given the key: what belongs to others must not be read for it.
        caller = caller_of(call)
        _own('chat_key', chat_key, 'conversation', caller['chat_key'])
        _own('user_key', user_key, 'user', caller['user_id'])
    return (chat_key, user_key, store_key)


def _own(parameter: str, given: str, of: str, own: str) -> None:
    if given not in ('', own):
        raise ValueError(f'the store has no entries of another {of} ("{given}") for this one; {parameter} is "{own}" here, or empty')
