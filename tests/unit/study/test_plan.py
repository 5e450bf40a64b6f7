"""A plan tells the rules who and what is in a study, whatever its source."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.errors import CohortError
from notears_pfl.study.plan import plan_study
from notears_pfl.study.sources import SOURCES

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "workflow/schemas"
SUBJECT = "KUTHC002"
AT_KUT = SimpleNamespace(site="KUT")


@pytest.fixture
def config():
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config["sites"] = str(ROOT / "config/sites.tsv")
    config["rois"]["table"] = str(ROOT / "config/rois.tsv")
    return config


@pytest.fixture
def series_study(tmp_path, config):
    """Write series of four subjects of one site; give their settings."""
    rows = [(f"sub-{group}{i}", "A", group) for group in ("MDD", "HC") for i in (1, 2)]
    people = pd.DataFrame(rows, columns=["participant_id", "site", "group"])
    people.to_csv(tmp_path / "participants.tsv", sep="\t", index=False)
    np.savez(tmp_path / "series.npz", **{name: np.eye(116) for name, *_ in rows})
    files = {"participants": "participants.tsv", "series": "series.npz"}
    files = {name: str(tmp_path / file) for name, file in files.items()}
    return config | {"source": config["source"] | files | {"kind": "timeseries"}}


@pytest.fixture
def plan(tmp_path, config):
    record = tmp_path / "headers.json"
    return lambda subjects_per_job="auto", **rois: plan_study(
        {**config, "rois": config["rois"] | rois, "subjects_per_job": subjects_per_job},
        SCHEMAS, "config.yaml", record, is_main=True,
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
    ("n_subjects", "size"), [(1, 10), (5000, 10), (5001, 20), (10_000, 20), (10_001, 40)]
)
def test_batches_grow_with_the_study_unless_their_size_is_set(plan, n_subjects, size):
    phantom = plan()
    names = [f"sub-{number}" for number in range(n_subjects)]
    people = pd.DataFrame({"participant_id": names, "site": "KUT", "group": "HC"})
    study = replace(phantom, source=replace(phantom.source, participants=people))

    sizes = [len(who) for who in study.batches.values()]

    assert max(sizes) == min(size, n_subjects)
    assert len(sizes) == -(-n_subjects // size)
    assert max(map(len, replace(study, subjects_per_job=3).batches.values())) <= 3


def test_a_job_plans_the_subjects_that_were_found_when_the_run_started(tmp_path, series_study):
    record, config = tmp_path / "source.pickle", series_study
    planned = plan_study(config, SCHEMAS, "config.yaml", record, is_main=True)
    (tmp_path / "participants.tsv").unlink()
    (tmp_path / "series.npz").unlink()

    again = plan_study(config, SCHEMAS, "config.yaml", record, is_main=False)

    assert again.batches == planned.batches
    assert again.source.runs == planned.source.runs
    pd.testing.assert_frame_equal(again.source.participants, planned.source.participants)


def test_a_record_is_found_again_where_some_keys_of_a_mapping_are_numbers(tmp_path, series_study):
    record, source = tmp_path / "source.pickle", series_study["source"]
    values = {1: "MDD", "HC": "HC", 9: "other"}
    config = {**series_study, "source": {**source, "group_values": values}}
    people = tmp_path / "participants.tsv"
    people.write_text(people.read_text().replace("\tMDD\n", "\t1\n"))
    plan_study(config, SCHEMAS, "config.yaml", record, is_main=True)
    people.unlink()

    # Jobs may read the settings in another order.
    source = {**source, "group_values": dict(reversed(values.items()))}
    config = {**dict(reversed(series_study.items())), "source": source}
    job = plan_study(config, SCHEMAS, "config.yaml", record, is_main=False)

    assert job.source.participants["group"].tolist() == ["MDD", "MDD", "HC", "HC"]


def test_a_process_that_starts_no_jobs_writes_no_record(tmp_path, series_study):
    before = {path.name for path in tmp_path.iterdir()}

    plan = plan_study(series_study, SCHEMAS, "config.yaml", record=None, is_main=True)

    assert len(plan.participants) == 4
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_record_of_other_settings_is_not_used(tmp_path, series_study):
    record, config = tmp_path / "source.pickle", series_study
    plan_study(config, SCHEMAS, "config.yaml", record, is_main=True)
    people = tmp_path / "participants.tsv"
    people.write_text(people.read_text().replace("sub-MDD1\tA\tMDD\n", ""))

    same = plan_study(config, SCHEMAS, "config.yaml", record, is_main=False)
    other = plan_study({**config, "seed": 1}, SCHEMAS, "config.yaml", record, is_main=False)

    assert len(same.participants) == 4
    assert other.participants == ["sub-MDD2", "sub-HC1", "sub-HC2"]


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


def test_columns_that_are_not_there_are_missed_in_the_users_table(series_study):
    series_study["source"] |= {"group_values": {"MDD": "MDD"}}
    series_study["cohort"] = series_study["cohort"] | {"match": ["years"]}

    with pytest.raises(
        CohortError, match=r"/participants\.tsv: cohort\.match names 'years'"
    ) as said:
        plan_study(series_study, SCHEMAS, "config.yaml", None, is_main=True)

    assert "results/" not in str(said.value)
    assert "not_enrolled" not in str(said.value)
