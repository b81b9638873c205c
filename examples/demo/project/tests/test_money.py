import pytest

from harbour import money


@pytest.mark.parametrize("text, cents", [("12.50", 1250), ("3", 300), ("0.5", 50), ("-1.05", -105)])
def test_parse(text, cents):
    assert money.parse(text) == cents


@pytest.mark.parametrize("text", ["", "1.234", "1,50", "abc"])
def test_parse_refuses_what_is_no_amount(text):
    with pytest.raises(ValueError):
        money.parse(text)


def test_show_is_the_reverse_of_parse():
    assert money.show(money.parse("-12.05")) == "-12.05"


def test_percent_rounds_half_a_cent_away_from_zero():
    assert money.percent(50, 1) == 1
    assert money.percent(-50, 1) == -1


def test_allocate_in_proportion():
    assert money.allocate(900, [1, 2]) == [300, 600]
