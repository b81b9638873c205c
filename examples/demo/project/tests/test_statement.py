from harbour.invoice import Invoice
from harbour.statement import render


def test_a_statement_ends_with_the_total():
    invoice = Invoice("Gannet")
    invoice.add("berth 12", 2, "40.00")
    assert render(invoice).splitlines()[-1].split() == ["total", "80.00"]
