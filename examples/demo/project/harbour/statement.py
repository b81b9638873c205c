from harbour import money
from harbour.invoice import Invoice


def render(invoice: Invoice) -> str:
    rows = [f"{line.what:<20}{line.nights:>4} x {money.show(line.fee):>8}{money.show(line.amount):>10}" for line in invoice.lines]
    if invoice.discount:
        rows.append(f"discount {invoice.discount} %")
    return "\n".join([invoice.boat, *rows, f"{'total':<35}{money.show(invoice.total):>10}"])
