"""A fingerprint changes with the code behind a script, and with no other code."""

from pathlib import Path

import pytest

from notears_pfl.io.fingerprint import code_behind, code_fingerprint

ROOT = Path(__file__).parents[3]


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


def test_what_a_package_exports_on_demand_does_not_count(tree):
    lazy = tree / "src" / "notears_pfl" / "__init__.py"
    lazy.write_text("def load():\n    from notears_pfl.sub import c\n")
    before = fingerprint(tree)

    (tree / "src" / "notears_pfl" / "sub" / "c.py").write_text("C = 2\n")

    assert fingerprint(tree) == before


@pytest.mark.parametrize(
    "use",
    [
        "def load():\n    from notears_pfl.sub import c\n",
        "def load():\n    import notears_pfl.sub.c\n",
        'PATH = "notears_pfl.sub.c"\n',
        'PATH = {"class": "notears_pfl.sub.c.Class"}\n',
    ],
)
def test_code_that_is_imported_late_or_named_to_an_engine_counts(tree, use):
    (tree / "src" / "notears_pfl" / "sub" / "b.py").write_text(use)
    before = fingerprint(tree)

    (tree / "src" / "notears_pfl" / "sub" / "c.py").write_text("C = 2\n")

    assert fingerprint(tree) != before


@pytest.mark.parametrize(
    ("script", "module"),
    [
        ("anatomical", "preproc/engines/ants.py"),
        ("anatomical", "preproc/engines/deepbet.py"),
        ("anatomical", "preproc/engines/fsl.py"),
        ("anatomical", "preproc/engines/spm.py"),
        ("functional", "preproc/engines/afni.py"),
        ("functional", "preproc/engines/ants.py"),
        ("functional", "preproc/engines/fsl.py"),
        ("functional", "preproc/engines/spm.py"),
        ("federated_networks", "federated/controller.py"),
        ("federated_networks", "federated/executor.py"),
    ],
)
def test_a_rule_depends_on_the_engines_that_its_settings_can_ask_for(script, module):
    files = code_behind(ROOT / f"scripts/{script}.py", ROOT / "src")

    assert ROOT / "src/notears_pfl" / module in files


# Steps on the T1w image, on the BOLD run, and on signals alone.
T1W_STEPS = ["anatomy", "brain", "tissues", "normalise", "engines/deepbet"]
BOLD_STEPS = [
    *("run", "volumes", "slice_timing", "realign", "coregister", "smooth", "engines/afni"),
]


@pytest.mark.parametrize(
    ("script", "apart"),
    [
        ("anatomical", [*BOLD_STEPS, "clean", "fmriprep"]),
        ("functional", [*T1W_STEPS, "clean", "fmriprep"]),
        ("clean_timeseries", [*T1W_STEPS, *BOLD_STEPS, "resample", "engines/program"]),
        ("fmriprep_run", [*T1W_STEPS, "run", "coregister", "slice_timing", "clean"]),
    ],
)
def test_editing_a_step_does_not_rerun_the_rules_that_do_not_use_it(script, apart):
    files = code_behind(ROOT / f"scripts/{script}.py", ROOT / "src")

    steps = [ROOT / f"src/notears_pfl/preproc/{name}.py" for name in apart]
    assert all(step.is_file() for step in steps)
    assert not set(steps) & set(files)
