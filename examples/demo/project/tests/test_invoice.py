import pytest

from harbour.invoice import Invoice


def make() -> Invoice:
    invoice = Invoice("Gannet")
    invoice.add("berth 12", 2, "40.00")
    invoice.add("electricity", 2, "5.50")
    return invoice


def test_total():
    assert make().total == 9100


def test_discount():
    invoice = make()
    invoice.discount = 10
    assert invoice.total == 8190


def test_a_stay_has_at_least_one_night():
    with pytest.raises(ValueError):
        make().add("berth 3", 0, "40.00")


def test_bills_of_the_owners_add_up_to_the_total():
    invoice = Invoice("Gannet")
    invoice.add("berth 12", 1, "100.00")
    bills = invoice.bills({"ada": 1, "ben": 1, "cleo": 1})
    assert sum(bills.values()) == invoice.total
