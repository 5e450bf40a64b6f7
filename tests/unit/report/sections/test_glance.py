"""The overview counts subjects and connections, and warns where this study gives reason to."""

from notears_pfl.report.sections.glance import glance_section

from ..toy import toy_findings


def test_a_glance_counts_people_and_connections(findings):
    content = glance_section(findings).content

    assert ("3", "sites", "COI, KUT, HUH") in content["tiles"]
    included = {what: value for value, what, _ in content["tiles"]}
    assert included["MDD included"] == included["HC included"] == "11"
    assert included["connections at every site, MDD only"] == "3"


def test_a_glance_warns_of_what_this_study_gives_reason_to(findings):
    stuck = {group: {**fit, "Converged": group != "HC"} for group, fit in findings.fits.items()}

    calm = " ".join(glance_section(findings).content["careful"])
    warned = " ".join(glance_section(toy_findings(fits=stuck)).content["careful"])

    assert "Excluded: 2 of 24 subjects" in calm
    assert "75% of the shared connections" in calm
    assert "did not converge" not in calm
    assert "The fit of HC did not converge" in warned


def test_subjects_with_a_step_that_did_not_converge_are_named_at_a_glance(findings):
    reports = {name: {"status": "ok", "cautions": []} for name in findings.reports}
    reports["sub-COIHC002"] = {"status": "ok", "cautions": ["The registration did not converge"]}

    careful = " ".join(glance_section(toy_findings(reports=reports)).content["careful"])

    assert "did not converge in 1 of 24 subjects (sub-COIHC002)" in careful


def test_a_group_without_connections_of_its_own_is_named(findings):
    overlap = findings.tables["overlap"]
    none = {**findings.tables, "overlap": overlap[overlap["found_in"] != "HC only"]}

    results = " ".join(glance_section(toy_findings(tables=none)).content["results"])

    assert "No connection is found at every site in HC only." in results
