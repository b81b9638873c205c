"""Amounts are whole cents; nothing here ever touches a float."""


def parse(text: str) -> int:
    """Cents of an amount such as "12.50" or "-3"."""
    sign = -1 if text.startswith("-") else 1
    whole, _, fraction = text.lstrip("-").partition(".")
    if not whole.isdigit() or len(fraction) > 2 or (fraction and not fraction.isdigit()):
        raise ValueError(f"not an amount: {text!r}")
    return sign * (int(whole) * 100 + int(fraction.ljust(2, "0")))


def show(cents: int) -> str:
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def percent(cents: int, rate: int) -> int:
    """A rate in percent of an amount, half a cent rounded away from zero."""
    scaled = abs(cents) * rate
    rounded = (scaled + 50) // 100
    return rounded if cents >= 0 else -rounded


def allocate(cents: int, shares: list[int]) -> list[int]:
    """Splits an amount in proportion to shares."""
    total = sum(shares)
    return [cents * share // total for share in shares]
