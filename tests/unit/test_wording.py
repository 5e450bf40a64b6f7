"""Messages count in the singular and in the plural."""

import pytest

from notears_pfl.wording import counted


@pytest.mark.parametrize(("n", "told"), [(0, "0 runs are"), (1, "1 run is"), (2, "2 runs are")])
def test_one_thing_is_singular(n, told):
    assert counted(n, "run is", "runs are") == told
