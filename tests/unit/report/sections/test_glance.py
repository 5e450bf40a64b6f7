"""The overview counts subjects and connections, and warns where this study gives reason to."""

from dataclasses import replace

from notears_pfl.report.sections.glance import glance_section
from notears_pfl.report.sections.subject_quality import quality_section

from ..toy import toy_findings


def test_a_glance_counts_people_and_connections(findings):
    content = glance_section(findings).content

    assert ("3", "sites", "COI, KUT, HUH") in content["tiles"]
    included = {what: value for value, what, _ in content["tiles"]}
    assert included["MDD included"] == included["HC included"] == "11"
    (own,) = [line for line in content["results"] if line.startswith("At every site of MDD")]
    assert "not every site of HC, in the networks of all subjects: " in own
    assert own.count("(HC: 0/3)") == 3
    assert included["connections at every site of MDD, not every site of HC"] == "3"


def test_the_card_shows_the_count_that_is_compared_with_chance(findings):
    counts = findings.tables["evidence_counts"].copy()
    own = (counts["result"] == "at every site") & (counts["who"] == "MDD only")
    counts.loc[own, ["fits", "observed", "expected", "low", "high"]] = 20, 10.5, 11.1, 4, 18
    uneven = toy_findings(tables={**findings.tables, "evidence_counts": counts})

    tiles = {what: (value, note) for value, what, note in glance_section(uneven).content["tiles"]}

    value, note = tiles["connections at every site of MDD, not every site of HC"]
    assert value == "10.5"
    assert note == (
        "11.1 expected by chance (4 to 18); both in networks of equal numbers of subjects, mean "
        "over subsamples. The networks of all subjects, below, have 20"
    )
    assert "equal numbers" not in tiles["connections at every site of HC, not every site of MDD"][1]


def test_the_other_scale_is_explained_at_its_first_use(findings):
    content = glance_section(findings).content

    uses = [line for line in content["results"] if "other scale" in line]
    assert "the other scale of the data, where each region is scaled to unit variance" in uses[0]
    assert sum("unit variance" in line for line in uses) == 1
    assert "on the other scale, where each region" in content["careful"][0]


def test_a_glance_warns_of_what_this_study_gives_reason_to(findings):
    stuck = {group: {**fit, "Converged": group != "HC"} for group, fit in findings.fits.items()}

    calm = " ".join(glance_section(findings).content["careful"])
    warned = " ".join(glance_section(toy_findings(fits=stuck)).content["careful"])

    assert "Excluded: 2 of 24 subjects" in calm
    assert "75% of the shared connections" in calm
    assert "did not converge" not in calm
    assert "The fit of HC did not converge" in warned


def test_doubts_of_a_fit_and_unclear_directions_are_shown_at_a_glance(findings):
    loud = {"Doubts": ["site 2: too loud."]}
    doubtful = {group: fit | loud for group, fit in findings.fits.items()}
    clear = {key: {**told, "UnclearDirections": 0} for key, told in findings.sidecars.items()}

    warned = " ".join(glance_section(toy_findings(fits=doubtful)).content["careful"])
    calm = " ".join(glance_section(toy_findings(sidecars=clear)).content["careful"])

    assert "The fit of MDD: site 2: too loud." in warned
    assert f"hardly tell the direction of {len(findings.sidecars)} of" in warned
    assert "hardly tell" not in calm
    assert "too loud" not in calm


def test_subjects_with_cautions_are_counted_at_a_glance_and_flagged_in_the_table(findings):
    reports = {name: {"status": "ok", "cautions": []} for name in findings.reports}
    reports["sub-COIHC002"] = {"status": "ok", "cautions": ["The brain has 703 ml.", "Look."]}
    cautioned = toy_findings(reports=reports)

    careful = " ".join(glance_section(cautioned).content["careful"])
    quality = quality_section(cautioned, {}).content

    assert "raised cautions for 1 of 24 subjects (sub-COIHC002)" in careful
    assert quality["n_cautioned"] == 1
    told = {row[0].order: row[-1] for row in quality["subjects"].rows}
    assert told["sub-COIHC002"].text == "The brain has 703 ml. Look."
    assert [name for name, cell in told.items() if cell.flagged] == ["sub-COIHC002"]
    assert quality_section(findings, {}).content["n_cautioned"] == 0


def test_a_group_without_connections_of_its_own_is_named(findings):
    overlap = findings.tables["overlap"]
    none = {**findings.tables, "overlap": overlap[overlap["found_in"] != "HC only"]}

    results = " ".join(glance_section(toy_findings(tables=none)).content["results"])

    assert "No connection is found at every site of HC, not every site of MDD." in results


def test_classes_of_regions_are_named_after_the_column_that_they_are_from(findings):
    lobes = findings.rois["lobe"]

    names = [
        replace(findings, rois=rois).class_of_regions
        for rois in (
            findings.rois,
            findings.rois.assign(network=lobes),
            findings.rois.assign(network="Default"),
        )
    ]

    assert names == ["lobe", "network", "lobe"]
