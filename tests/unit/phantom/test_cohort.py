"""The cohort has the subjects that the sites table asks for, and BIDS knows their scans."""

import pandas as pd
import pytest

from notears_pfl.phantom.cohort import bold_sidecar, list_subjects, participants_table


@pytest.fixture
def sites():
    counts = {"phantom_patients": [2, 3], "phantom_controls": [2, 2]}
    return pd.DataFrame(counts, index=["COI", "HUH"])


def test_every_site_has_its_patients_and_controls(sites):
    subjects = list_subjects(sites, ("MDD", "HC"))

    assert subjects["participant_id"].is_unique
    assert subjects.groupby(["site", "group"]).size().to_dict() == {
        ("COI", "MDD"): 2, ("COI", "HC"): 2, ("HUH", "MDD"): 3, ("HUH", "HC"): 2,
    }  # fmt: skip


def test_adding_a_subject_leaves_the_others_as_they_were(sites):
    before = participants_table(list_subjects(sites, ("MDD", "HC")), "MDD", seed=7)
    sites.loc["COI", "phantom_patients"] += 1
    after = participants_table(list_subjects(sites, ("MDD", "HC")), "MDD", seed=7)

    kept = after[after["participant_id"].isin(before["participant_id"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, before)
    assert len(after) == len(before) + 1


def test_patients_score_higher_on_the_inventory(sites):
    sites[:] = 50
    people = participants_table(list_subjects(sites, ("MDD", "HC")), "MDD", seed=7)

    means = people.groupby("group")["bdi"].mean()
    assert means["MDD"] > means["HC"] + 15
    assert people["age"].between(20, 75).all()
    assert set(people["sex"]) == {"F", "M"}


def test_the_bold_sidecar_carries_the_protocol_in_bids_units(site, protocol):
    sidecar = bold_sidecar(site, protocol)

    assert sidecar["RepetitionTime"] == 2.0
    assert sidecar["EchoTime"] == 0.03
    assert sidecar["SpacingBetweenSlices"] == 4.0
    assert len(sidecar["SliceTiming"]) == 20
    assert max(sidecar["SliceTiming"]) < 2.0
    assert (sidecar["Manufacturer"], sidecar["ManufacturersModelName"]) == ("Siemens", "Verio")
