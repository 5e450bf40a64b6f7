"""A plan tells the rules who and what is in a study, whatever its source."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from notears_pfl.study.plan import plan_study
from notears_pfl.study.sources import SOURCES

ROOT = Path(__file__).parents[3]
SUBJECT = SimpleNamespace(subject="KUTHC002")


@pytest.fixture
def plan(tmp_path):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["sites"] = str(ROOT / "config/sites.tsv")
    config["rois"]["table"] = str(ROOT / "config/rois.tsv")
    record = tmp_path / "headers.json"
    return lambda **rois: plan_study(
        {**config, "rois": config["rois"] | rois}, ROOT / "workflow/schemas", "config.yaml",
        record, is_main=True,
    )  # fmt: skip


def test_every_kind_of_source_has_its_class():
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())

    assert set(SOURCES) == set(schema["properties"]["source"]["properties"]["kind"]["enum"])


def test_the_phantom_is_planned_from_the_sites_table(plan):
    phantom = plan()

    assert phantom.kind == "phantom"
    assert phantom.groups == ["MDD", "HC"]
    assert phantom.sites == phantom.processed_sites == ["COI", "KUT", "UTO", "HKH", "HUH"]
    assert phantom.group_sites[0] == ("MDD", "COI")
    assert len(phantom.participants) == len(phantom.subjects) == 40
    assert phantom.subjects_at("KUT")[-1] == "KUTHC004"
    assert phantom.protocol(SUBJECT)["repetition_time"] == 2.5
    assert "phantom_patients" not in phantom.protocol(SUBJECT)
    assert phantom.true_network(SUBJECT) == "results/phantom/truth/group-HC_site-KUT_relmat.tsv"
    assert phantom.source.t1w(SUBJECT) == "results/bids/sub-KUTHC002/anat/sub-KUTHC002_T1w.nii.gz"


@pytest.mark.parametrize(
    ("atlas", "origin", "name"),
    [
        ("auto", "surrogate", "surrogate116"),
        ("surrogate", "surrogate", "surrogate116"),
        ("nilearn", "nilearn", "AAL116"),
        ("/data/aal.nii", "/data/aal.nii", "AAL116"),
    ],
)
def test_files_are_named_by_the_regions_that_they_hold(plan, atlas, origin, name):
    planned = plan(atlas=atlas)

    assert planned.atlas.origin == origin
    assert planned.atlas.name == name
    assert f"_seg-{name}_desc-clean_timeseries.tsv" in planned.clean_series
    assert len(planned.atlas.selected) == 56
