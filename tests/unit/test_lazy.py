"""Values that are made when they are asked for."""

import pytest

from notears_pfl.lazy import Lazy


def test_only_values_that_are_asked_for_are_made_in_the_order_of_their_names():
    made = []
    lazy = Lazy("ba", lambda name: made.append(name) or name.upper())

    assert (list(lazy), len(lazy), made) == (["b", "a"], 2, [])
    assert lazy["a"] == "A"
    assert made == ["a"]
    assert dict(lazy.items()) == {"b": "B", "a": "A"}
    with pytest.raises(KeyError):
        lazy["c"]
