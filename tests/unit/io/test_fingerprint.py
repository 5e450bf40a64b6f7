"""A fingerprint changes with the code behind a script, and with no other code."""

import pytest

from notears_pfl.io.fingerprint import code_fingerprint


@pytest.fixture
def tree(tmp_path):
    """Write a script that uses a, which uses b; c stands apart."""
    package = tmp_path / "src" / "notears_pfl"
    (package / "sub").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sub" / "__init__.py").touch()
    (package / "sub" / "a.py").write_text("from notears_pfl.sub import b\n")
    (package / "sub" / "b.py").write_text("B = 1\n")
    (package / "sub" / "c.py").write_text("C = 1\n")
    (tmp_path / "script.py").write_text("import numpy\nfrom notears_pfl.sub.a import b\n")
    return tmp_path


def fingerprint(tree):
    return code_fingerprint(tree / "script.py", tree / "src")


@pytest.mark.parametrize("edited", ["sub/a.py", "sub/b.py", "sub/__init__.py", "__init__.py"])
def test_editing_code_behind_the_script_changes_it(tree, edited):
    before = fingerprint(tree)

    path = tree / "src" / "notears_pfl" / edited
    path.write_text(path.read_text() + "# edited\n")

    assert fingerprint(tree) != before


def test_editing_other_code_does_not(tree):
    before = fingerprint(tree)

    (tree / "src" / "notears_pfl" / "sub" / "c.py").write_text("C = 2\n")

    assert fingerprint(tree) == before


def test_code_that_a_function_imports_on_demand_does_not_count(tree):
    lazy = tree / "src" / "notears_pfl" / "__init__.py"
    lazy.write_text("def load():\n    from notears_pfl.sub import c\n")
    before = fingerprint(tree)

    (tree / "src" / "notears_pfl" / "sub" / "c.py").write_text("C = 2\n")

    assert fingerprint(tree) == before
