"""Checks random invoices round by round. Leaves a line in ~/soak-runs.log each time it is started."""

import os
import random
import time
from pathlib import Path

from harbour.invoice import Invoice

ROUNDS = 16
INVOICES = 300


def check(dice: random.Random) -> None:
    invoice = Invoice("Petrel", discount=dice.randrange(0, 40))
    for number in range(dice.randrange(1, 6)):
        invoice.add(f"berth {number}", dice.randrange(1, 15), f"{dice.randrange(1, 200)}.{dice.randrange(100):02d}")
    owners = {f"owner {number}": dice.randrange(1, 9) for number in range(dice.randrange(1, 7))}
    paid = sum(invoice.bills(owners).values())
    assert paid == invoice.total, f"{owners} pay {paid} of {invoice.total} cents"


def main() -> None:
    with open(Path.home() / "soak-runs.log", "a", encoding="utf-8") as runs:
        runs.write(f"started as process {os.getpid()}\n")
    dice = random.Random(7)
    for number in range(1, ROUNDS + 1):
        for _ in range(INVOICES):
            check(dice)
        print(f"round {number}/{ROUNDS}: {INVOICES} invoices, every cent is paid", flush=True)
        time.sleep(0.9)
    print(f"{ROUNDS * INVOICES} invoices checked", flush=True)


if __name__ == "__main__":
    main()
