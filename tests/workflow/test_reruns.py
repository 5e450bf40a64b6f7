"""What runs again: the table in config/README.md is Snakemake's own answer, setting by setting."""

import shutil

import pytest
import yaml

from notears_pfl.io.schema import read_schema
from rerun_table import MARKERS, Plan, other_values, pretend_finished, rerun_table
from settings_table import with_table

from .conftest import ROOT

SCHEMA = read_schema(ROOT / "workflow/schemas/config.schema.yaml")


@pytest.fixture(scope="module")
def pretended(tmp_path_factory):
    """Give a study that counts as finished, and a copy of the workflow whose code may change."""
    workflow = tmp_path_factory.mktemp("workflow")
    shutil.copy(ROOT / "Snakefile", workflow)
    for folder in ("config", "envs", "scripts", "src", "workflow"):
        shutil.copytree(
            ROOT / folder, workflow / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    return pretend_finished(tmp_path_factory.mktemp("pretended"), workflow)


def test_a_finished_study_has_nothing_to_do(pretended):
    assert pretended.plan() == Plan((), ())


def test_the_readme_holds_the_answers_for_every_setting(pretended):
    config = yaml.safe_load((pretended.folder / "config/config.yaml").read_text())
    readme = (ROOT / "config/README.md").read_text(encoding="utf-8")

    table = rerun_table(pretended, SCHEMA, config)

    assert with_table(readme, table, MARKERS) == readme, "run make figures"


@pytest.mark.parametrize(
    ("settings", "starts"),
    [
        ({"analysis": {"top_rois": 5}}, {"degree", "federated_degree"}),
        ({"cohort": {"discovery_share": 0.6}}, {"cohort"}),
        ({"preproc": {"clean": {"band_hz": [0.01, 0.1]}}}, {"clean_timeseries"}),
        ({"preproc": {"engine": {"brain": "fsl"}}}, {"anatomical"}),
    ],
)
def test_a_setting_reruns_the_rule_that_uses_it_first(pretended, settings, starts):
    assert set(pretended.plan(settings).starts) == starts


def test_settings_that_cannot_be_are_no_plan(pretended):
    assert pretended.plan({"analysis": {"top_rois": -1}}) is None


@pytest.mark.parametrize(
    ("file", "starts"),
    [
        # First: after a script has changed, its time stamp makes its rule run again.
        ("src/notears_pfl/report/sections/nodes.py", {"report_degree"}),
        ("scripts/degree.py", {"degree", "federated_degree"}),
        ("src/notears_pfl/analysis/overlap.py", {"overlap", "federated_overlap", "truth"}),
        ("src/notears_pfl/preproc/normalise.py", {"anatomical"}),
        ("src/notears_pfl/cli.py", set()),
    ],
)
def test_changed_code_reruns_the_rules_that_use_it_and_no_others(pretended, file, starts):
    path = pretended.workflow / file
    before = path.read_text()

    path.write_text(before + "\n# changed\n")
    plan = pretended.plan()
    path.write_text(before)

    assert set(plan.starts) == starts


@pytest.mark.parametrize(
    ("field", "default", "first"),
    [
        ({"enum": ["a", "b", "c"]}, "b", "a"),
        ({"type": "boolean"}, True, False),
        ({"type": "integer", "maximum": 3}, 3, 2),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, 0.5, 0.505),
        ({"oneOf": [{"const": "auto"}, {"type": "number", "minimum": 0}]}, "auto", 1),
        ({"type": "array", "items": {"enum": ["x", "y"]}}, [], ["x"]),
        (
            {"oneOf": [{"const": "all"}, {"type": "array", "items": {"enum": ["x", "y"]}}]},
            "all",
            ["x"],
        ),
    ],
)
def test_another_value_is_allowed_and_differs(field, default, first):
    assert other_values(field, default)[0] == first
