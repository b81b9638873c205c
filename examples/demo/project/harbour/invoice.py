from dataclasses import dataclass, field

from harbour import money


@dataclass(frozen=True)
class Line:
    what: str
    nights: int
    fee: int

    @property
    def amount(self) -> int:
        return self.nights * self.fee


@dataclass
class Invoice:
    boat: str
    lines: list[Line] = field(default_factory=list)
    discount: int = 0

    def add(self, what: str, nights: int, fee: str) -> None:
        if nights < 1:
            raise ValueError("a stay has at least one night")
        self.lines.append(Line(what, nights, money.parse(fee)))

    @property
    def total(self) -> int:
        gross = sum(line.amount for line in self.lines)
        return gross - money.percent(gross, self.discount)

    def bills(self, owners: dict[str, int]) -> dict[str, int]:
        """What each owner of the boat pays, by their shares in it."""
        return dict(zip(owners, money.allocate(self.total, list(owners.values()))))
