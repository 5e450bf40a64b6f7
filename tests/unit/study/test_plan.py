"""A plan tells the rules who and what is in a study, whatever its source."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from notears_pfl.study.plan import plan_study
from notears_pfl.study.sources import SOURCES

ROOT = Path(__file__).parents[3]
SUBJECT = "KUTHC002"
AT_KUT = SimpleNamespace(site="KUT")


@pytest.fixture
def plan(tmp_path):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["sites"] = str(ROOT / "config/sites.tsv")
    config["rois"]["table"] = str(ROOT / "config/rois.tsv")
    record = tmp_path / "headers.json"
    n = config["subjects_per_job"]
    return lambda subjects_per_job=n, **rois: plan_study(
        {**config, "rois": config["rois"] | rois, "subjects_per_job": subjects_per_job},
        ROOT / "workflow/schemas", "config.yaml", record, is_main=True,
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
    assert len(phantom.participants) == len(phantom.subjects) == 100
    assert phantom.subjects_at("KUT")[-1] == "KUTHC010"
    assert phantom.protocol(AT_KUT)["repetition_time"] == 2.5
    assert "phantom_patients" not in phantom.protocol(AT_KUT)
    assert phantom.true_network(SUBJECT) == "results/phantom/truth/group-HC_site-KUT_relmat.tsv"
    assert phantom.source.t1w(SUBJECT) == "results/bids/sub-KUTHC002/anat/sub-KUTHC002_T1w.nii.gz"


@pytest.mark.parametrize(("n", "sizes"), [(1, [1] * 20), (7, [7, 7, 6]), (100, [20])])
def test_batches_hold_the_subjects_of_one_site_in_order(plan, n, sizes):
    phantom = plan(subjects_per_job=n)

    at_kut = {batch: who for (site, batch), who in phantom.batches.items() if site == "KUT"}
    assert [len(who) for who in at_kut.values()] == sizes
    assert list(at_kut) == [str(i + 1) for i in range(len(sizes))]
    assert [who for batch in at_kut.values() for who in batch] == phantom.subjects_at("KUT")
    assert SUBJECT in phantom.batches[phantom.batch_of(SUBJECT)]


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
