"""What is kept in memory of rows that were read."""

from storage.recent import Recent


def test_a_value_is_kept_under_its_key():
    recent = Recent(2)
    recent.put("a", 1)

    assert [recent.get("a"), recent.get("b")] == [1, None]


def test_a_newer_value_takes_the_place_of_an_older_one():
    recent = Recent(2)
    recent.put("a", 1)
    recent.put("a", 2)

    assert recent.get("a") == 2


def test_the_value_used_longest_ago_makes_room():
    recent = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    recent.get("a")
    recent.put("c", 3)

    assert [recent.get(key) for key in "abc"] == [1, None, 3]
