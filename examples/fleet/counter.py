"""Counts by itself from the moment it is imported. It begins where the ledger ends, and adds a line to it with each look."""

from __future__ import annotations

import secrets
import threading
import time
from pathlib import Path

LEDGER = Path('/home/user/ledger')


class Counter:
    def __init__(self) -> None:
        lines = LEDGER.read_text().splitlines() if LEDGER.exists() else []
        # Only in memory until it is written down: another process has another one.
        self.program = secrets.token_hex(4)
        self.count = int(lines[-1].split()[-1]) if lines else 0
        print(f'program {self.program} begins at {self.count}; the ledger has {len(lines)} lines')
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            time.sleep(0.1)
            self.count += 1

    def look(self) -> None:
        before = self.count
        time.sleep(1)
        after = self.count
        print(f'program {self.program} counts: {before}, a second later {after}')
        with LEDGER.open('a') as ledger:
            ledger.write(f'{self.program} {after}\n')


counter = Counter()
