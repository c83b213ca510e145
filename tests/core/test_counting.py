"""Numbers with their nouns."""

from core.text.counting import counted, counted_range


def test_one_is_singular_and_all_else_plural():
    """Thousands have their comma; a phrase is bent at its end."""
    assert [counted(n, "rows") for n in (0, 1, 2, 1024)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,024 rows",
    ]
    assert counted(1, "sequence tokens") == "1 sequence token"


def test_a_range_of_one_size_is_that_size():
    """No 'from 1 to 1'."""
    assert counted_range(1, 1, "requests") == "1 request"
    assert counted_range(1, 64, "requests") == "1 to 64 requests"
    assert counted_range(8, 2048, "tokens") == "8 to 2,048 tokens"
