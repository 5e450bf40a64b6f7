"""The release's subjects: a blank site is a problem, a site elsewhere is not."""

import pandas as pd
import pytest
from tests.tiny_images import tiny_image, tiny_t1w, write_tiny_release

from notears_pfl.errors import CohortError
from notears_pfl.study.headers import HeaderChecks
from notears_pfl.study.srpbs import enrol_release

SITES = pd.DataFrame({"repetition_time": [2.5]}, index=["COI"])
SOURCE = {
    "site_column": "site", "group_column": "diag", "group_values": {2: "MDD", 0: "HC"},
    "on_problem": "stop",
}  # fmt: skip


@pytest.fixture
def release(tmp_path):
    """Write a patient and two controls at COI, one of them without a site, and one at KTT."""
    rows = [("sub-1", "COI", 2), ("sub-2", "COI", 0), ("sub-3", "", 0), ("sub-4", "KTT", 0)]
    people = pd.DataFrame(rows, columns=["participant_id", "site", "diag"]).assign(protocol=1)
    people.to_csv(tmp_path / "participants.tsv", sep="\t", index=False)
    (tmp_path / "MRI_protocols_rsMRI.tsv").write_text("Protocol #\t1\nTR (s)\t2,500\n")
    t1w, volume = tiny_t1w().to_bytes(), tiny_image((4, 4, 4), 4.0).to_bytes()
    for name in people["participant_id"]:
        write_tiny_release(tmp_path / "data" / name, t1w, volume)
    return {**SOURCE, "dataset": str(tmp_path)}


def enrolled(release, sites=SITES):
    return enrol_release(release, sites, "sites.tsv", ("MDD", "HC"), HeaderChecks(10, True))


def test_a_blank_site_stops_the_study(release):
    with pytest.raises(CohortError, match=r"1 of 4 subjects.*\n  sub-3: site is missing in"):
        enrolled(release)


def test_a_blank_site_can_be_excluded_with_its_reason(release):
    enrolment = enrolled({**release, "on_problem": "exclude"})

    why = enrolment.participants.set_index("participant_id")["not_enrolled"]
    assert "site is missing in" in why["sub-3"]
    assert why["sub-4"] == "site KTT is not in sites.tsv"
    assert set(enrolment.scans) == {"sub-1", "sub-2"}


def test_a_protocol_with_another_repetition_time_than_the_sites_is_named(release):
    other = SITES.assign(repetition_time=2.7)

    with pytest.raises(CohortError, match=r"TR of 2\.5 s, the sites table 2\.7 s"):
        enrolled(release, other)
