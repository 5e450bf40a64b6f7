"""A site's file and its data."""

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.cohort.samples import site_samples
from notears_pfl.errors import ConfigError, FederatedError, TableError
from notears_pfl.federated.ledger import Ledger
from notears_pfl.federated.message_kinds import KINDS, check_answer
from notears_pfl.federated.messages import Message
from notears_pfl.federated.run_records import LEDGER, record_run
from notears_pfl.federated.site_data import load_site, subjects_per_fold
from notears_pfl.federated.site_rules import RefusedError, read_rules

ROIS = ["A", "B", "C"]
PLAN = {"group": "MDD", "rois": ["A", "C"], "scale": "subject", "estimator": {}}


@pytest.fixture
def settings():
    return {
        "centre": "centre.org",
        "participants": "cohort.tsv",
        "series": "series/{participant_id}.tsv",
        "records": "records",
        "allow": {
            "groups": ["MDD"],
            "rois": ROIS,
            "scales": ["subject"],
            "minimum_subjects": 3,
            "lambda": [0, 1],
            "kappa": [0, 4],
            "rho": [0.01, 10],
            "messages": list(KINDS),
        },
    }


@pytest.fixture
def site_file(tmp_path, settings, rng):
    """Write a site's file and series: four MDD in discovery, and others that must not count."""
    (tmp_path / "series").mkdir()
    rows = [(f"sub-{i}", "COI", "MDD", "discovery") for i in range(4)]
    rows += [("sub-v", "COI", "MDD", "validation"), ("sub-h", "COI", "HC", "discovery")]
    rows += [("sub-o", "HUH", "MDD", "discovery")]
    columns = ["participant_id", "site", "group", "split"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "cohort.tsv", sep="\t", index=False)
    for name, *_ in rows:
        table = pd.DataFrame(rng.normal(size=(30, 3)) * [1, 2, 3], columns=ROIS)
        table.to_csv(tmp_path / f"series/{name}.tsv", sep="\t", index=False)

    def write(**changes):
        content = {**settings, **changes.pop("top", {})}
        content["allow"] = {**content["allow"], **changes}
        (tmp_path / "site.yaml").write_text(yaml.safe_dump(content))
        return tmp_path / "site.yaml"

    return write


def test_a_site_loads_its_discovery_subjects_of_the_group(site_file, tmp_path):
    loaded = load_site(read_rules(site_file()), "COI", PLAN)

    paths = {f"sub-{i}": tmp_path / f"series/sub-{i}.tsv" for i in range(4)}
    series = {name: pd.read_csv(path, sep="\t")[["A", "C"]] for name, path in paths.items()}
    x = site_samples(series, "subject").x
    assert np.allclose(loaded.site.describe().variances, x.var(axis=0))
    assert loaded.counts["subjects"] == 4
    assert loaded.counts["samples"] == 120
    check_answer("plan", loaded.counts, 2)


def test_too_few_subjects_are_refused_without_saying_how_many(site_file):
    rules = read_rules(site_file(minimum_subjects=5))

    with pytest.raises(
        RefusedError, match="groups of at least 5 subjects; this group has fewer"
    ) as raised:
        load_site(rules, "COI", PLAN)

    assert "4" not in str(raised.value)


@pytest.mark.parametrize(("least", "has_folds"), [(0, True), (1, True), (2, False), (None, False)])
def test_a_group_whose_parts_are_too_small_has_no_folds(site_file, least, has_folds):
    """Four subjects make parts of two, one and one; by default a part needs five."""
    allowed = {} if least is None else {"minimum_fold_subjects": least}
    site = load_site(read_rules(site_file(**allowed)), "COI", PLAN).site

    exact = load_site(read_rules(site_file(minimum_fold_subjects=0)), "COI", PLAN).site
    assert site.describe().has_samples == has_folds
    assert site.describe().variances.tobytes() == exact.describe().variances.tobytes()


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([100] * 15, 5.0),
        ([100] * 14, 4.0),
        ([10] * 15 + [3000], 3040 / 3000),
        ([1000, 10, 10, 10, 10], 1.0),
    ],
)
def test_a_part_counts_subjects_by_the_largest_share(lengths, expected):
    subjects = np.repeat(np.arange(len(lengths)), lengths)

    assert subjects_per_fold(subjects, 3) == pytest.approx(expected)


def test_a_site_of_another_name_has_no_subjects(site_file):
    with pytest.raises(RefusedError, match="at least 3 subjects"):
        load_site(read_rules(site_file()), "KUT", PLAN)


def test_a_site_with_noise_reveals_only_private_values(site_file):
    noise = {"epsilon": 5.0, "delta": 1e-5, "clip": 4.0}
    rules = read_rules(site_file(top={"noise": noise}))

    first, second = (load_site(rules, "COI", PLAN) for _ in range(2))

    exact = load_site(read_rules(site_file()), "COI", PLAN).site.describe()
    described = first.site.describe()
    assert not np.allclose(described.variances, exact.variances)
    assert described.variances.tobytes() == second.site.describe().variances.tobytes()
    # No folds: they would be further releases, which ε and δ do not cover.
    assert not described.has_samples
    assert first.counts["noise"] == noise
    assert first.counts["effective_samples"] is None
    check_answer("plan", first.counts, 2)


@pytest.mark.parametrize("change", [{"rois": ["A", "B"]}, {"scale": "roi"}, {"rois": ["C", "A"]}])
def test_a_different_second_release_of_a_group_is_refused(site_file, tmp_path, change):
    """Other ROIs weight subjects differently, so many lists would reveal single subjects."""
    rules = read_rules(site_file(scales=["subject", "roi"]))
    load_site(rules, "COI", PLAN)
    load_site(rules, "COI", {**PLAN, "estimator": {"kappa": 1.0}})

    with pytest.raises(RefusedError, match=r"different ROIs.*remove group-MDD_release.txt"):
        load_site(rules, "COI", {**PLAN, **change})

    (tmp_path / "records/group-MDD_release.txt").unlink()
    assert load_site(rules, "COI", {**PLAN, **change}).counts["subjects"] == 4


def test_a_group_that_changed_between_runs_is_refused(site_file, tmp_path):
    """The difference between the runs would be the covariance of the subject who left."""
    rules = read_rules(site_file())
    load_site(rules, "COI", PLAN)
    cohort = pd.read_csv(tmp_path / "cohort.tsv", sep="\t")
    cohort.iloc[1:].to_csv(tmp_path / "cohort.tsv", sep="\t", index=False)

    with pytest.raises(RefusedError, match="has already answered about group 'MDD'"):
        load_site(rules, "COI", PLAN)


def test_with_noise_other_rois_are_refused_as_a_second_release(site_file):
    rules = read_rules(site_file(top={"noise": {"epsilon": 5.0, "delta": 1e-5, "clip": 4.0}}))
    load_site(rules, "COI", PLAN)

    with pytest.raises(FederatedError, match="were released before"):
        load_site(rules, "COI", {**PLAN, "rois": ["A", "B"]})


NOISE = {"noise": {"epsilon": 5.0, "delta": 1e-5, "clip": 4.0}}


def answered(rules, run, kind, group):
    """Write the records that a run leaves at a site."""
    ledger = Ledger(rules.records / LEDGER, run)
    record_run(rules.records, run, rules)
    ledger.write("out", group, Message("answer", 1, 1, (np.zeros(2),)), kind, 100)
    ledger.close()


@pytest.mark.parametrize("kind", ["describe", "step", "score"])
def test_noise_is_refused_for_a_group_already_sent_without_it(site_file, kind):
    answered(read_rules(site_file()), "january", kind, "MDD")

    with pytest.raises(
        RefusedError, match="in run january this site sent results of group 'MDD' without noise"
    ):
        load_site(read_rules(site_file(top=NOISE)), "COI", PLAN)


def test_noise_after_a_run_of_unknown_rules_is_refused(site_file):
    rules = read_rules(site_file(top=NOISE))
    Ledger(rules.records / LEDGER, "old").write("out", "MDD", Message("answer", 1, 1), "step", 9)

    with pytest.raises(RefusedError, match="in run old"):
        load_site(rules, "COI", PLAN)


@pytest.mark.parametrize(("top", "kind", "group"), [
    (NOISE, "step", "MDD"),
    ({}, "step", "HC"),
    ({}, "plan", "MDD"),
])  # fmt: skip
def test_noise_is_added_if_nothing_was_sent_without_it(site_file, top, kind, group):
    answered(read_rules(site_file(top=top)), "january", kind, group)

    loaded = load_site(read_rules(site_file(top=NOISE)), "COI", PLAN)

    assert loaded.counts["noise"] == NOISE["noise"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"minimum_subjects": 1}, "'allow.minimum_subjects' is 1"),
        ({"messages": ["samples"]}, "'allow.messages.0' is 'samples'"),
        ({"groups": ["MDD", "mdd"]}, "site.yaml: the groups 'MDD', 'mdd' differ only by case"),
        ({"groups": ["MDD\n"]}, r"'allow.groups.0' is 'MDD\\n'"),
        ({"rho": [10, 0.1]}, "allow.rho is .*write the smaller value first"),
        ({"top": {"series": "series.tsv"}}, "'series' is 'series.tsv'"),
        ({"top": {"nois": {}}}, "unknown key 'nois'. Did you mean 'noise'"),
        ({"top": {"noise": {"epsilon": 1, "delta": 2, "clip": 1}}}, "'noise.delta' is 2"),
    ],
)
def test_a_wrong_site_file_is_refused(site_file, changes, reason):
    with pytest.raises(ConfigError, match=reason):
        read_rules(site_file(**changes))


def test_a_missing_site_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        read_rules(tmp_path / "nowhere.yaml")


def test_allowed_rois_may_come_from_a_table(site_file, tmp_path):
    table = pd.DataFrame({"abbreviation": ROIS, "selected": [True, False, True]})
    table.to_csv(tmp_path / "rois.tsv", sep="\t", index=False)

    assert read_rules(site_file(rois="rois.tsv")).rois == ("A", "C")


def test_a_table_without_a_selection_allows_all_its_rois(site_file, tmp_path):
    (tmp_path / "rois.tsv").write_text("abbreviation\tlobe\nA\tFront\nB\tBack\nC\tBack\n")

    assert read_rules(site_file(rois="rois.tsv")).rois == ("A", "B", "C")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("abbreviation\tselected\nA\t1\nB\t0\nC\t1\n", "row 1: 'selected' is '1'"),
        ("abbreviation\tselected\nA\ttrue\nB\tfalse\n", "at least two ROIs must be selected"),
        ("abbreviation\tselected\nA\ttrue\nA\ttrue\n", "'A' appears in more than one row"),
        ("name\tselected\nA\ttrue\nB\ttrue\n", "'abbreviation' is missing"),
        ("", "cannot be read as a table"),
    ],
)
def test_a_wrong_table_of_rois_is_refused(site_file, tmp_path, text, reason):
    (tmp_path / "rois.tsv").write_text(text)

    with pytest.raises(TableError, match=rf"rois\.tsv.*{reason}"):
        read_rules(site_file(rois="rois.tsv"))


def test_a_duplicate_key_in_a_sites_file_is_refused(site_file):
    file = site_file()
    file.write_text(file.read_text() + "records: elsewhere\n")

    with pytest.raises(ConfigError, match=r"site.yaml: the key 'records' appears twice in lines"):
        read_rules(file)


def test_a_cohort_or_series_that_the_workflow_did_not_write_are_refused(site_file, tmp_path):
    rules = read_rules(site_file())
    (tmp_path / "series/sub-2.tsv").write_text("A\tB\n1\t2\n")

    with pytest.raises(TableError, match=r"sub-2\.tsv: 1 ROIs have no column of numbers \(C\)"):
        load_site(rules, "COI", PLAN)
    (tmp_path / "cohort.tsv").write_text("participant_id\tsite\nsub-2\tCOI\n")
    with pytest.raises(TableError, match=r"cohort\.tsv: no column group, split"):
        load_site(rules, "COI", PLAN)
