"""Each section says what the findings say, and says so when there is nothing."""

import pandas as pd
import pytest

from notears_pfl.io.tables import read_table, write_table
from notears_pfl.report.page import render
from notears_pfl.report.sections.cohort import cohort_section
from notears_pfl.report.sections.extras import comparison_section, simulations_section
from notears_pfl.report.sections.glance import glance_section
from notears_pfl.report.sections.limits import limits_section
from notears_pfl.report.sections.networks import direction_flag, edge_records, networks_section
from notears_pfl.report.sections.nodes import nodes_section
from notears_pfl.report.sections.provenance import provenance_section, read_benchmarks
from notears_pfl.report.sections.quality import outliers, quality_section
from notears_pfl.report.sections.truth import truth_section

from .toy import GROUPS, SITES, blank_pictures, toy_findings, toy_origin


@pytest.fixture(scope="module")
def findings():
    return toy_findings()


@pytest.fixture(scope="module")
def pictures(findings):
    return blank_pictures(findings)


def texts(table):
    return [[str(cell.text) for cell in row] for row in table.rows]


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

    assert "2 of 24 people were left out" in calm
    assert "75% of the shared connections" in calm
    assert "did not converge" not in calm
    assert "The fit of HC did not converge" in warned


def test_a_group_without_connections_of_its_own_is_named(findings):
    overlap = findings.tables["overlap"]
    none = {**findings.tables, "overlap": overlap[overlap["found_in"] != "HC only"]}

    learned = " ".join(glance_section(toy_findings(tables=none)).content["learned"])

    assert "No connection is at every site in HC and not in the other group." in learned


def test_the_cohort_lists_everyone_left_out_with_the_reason(findings, pictures):
    reasons = texts(cohort_section(findings, pictures).content["reasons"])

    assert [row[0] for row in reasons] == ["sub-COIMDD002", "sub-HUHHC004"]
    assert reasons[0][3] == "motion: mean FD 0.71 > 0.5 mm"


def test_table_one_gives_mean_spread_number_and_difference(findings, pictures):
    row = findings.tables["table_one"].iloc[0]

    shown = texts(cohort_section(findings, pictures).content["table_one"])[0]

    assert shown[:2] == ["COI", "age"]
    assert shown[2] == f"{row['mean_MDD']:.3g} ± {row['sd_MDD']:.2g} ({row['n_MDD']})"
    assert shown[4] == f"{row['smd']:+.2f}".replace("-", "−")


def test_a_cohort_of_whom_nothing_is_known_is_shown_without_table_one(findings, pictures, tmp_path):
    nothing = findings.tables["table_one"].iloc[:0]
    write_table(nothing, tmp_path / "table_one.tsv", index=False)
    tables = {**findings.tables, "table_one": read_table(tmp_path / "table_one.tsv")}

    section = cohort_section(toy_findings(tables=tables), pictures)
    page = render("sections/cohort.html", content=section.content)
    careful = " ".join(glance_section(toy_findings(tables=tables)).content["careful"])

    assert "Nothing is known of them" in page
    assert "Head motion is not known" in careful


def test_quality_marks_what_is_beyond_a_limit_and_links_to_each_page(findings):
    table = quality_section(findings).content["subjects"]

    moved = table.rows[1]
    assert moved[5].flagged
    assert moved[5].text == "0.71"
    assert 'href="subjects/site-COI/sub-COIMDD002.html"' in moved[0].text
    assert table.rows[-1][3].text == "failed"


def test_subjects_with_cautions_are_counted_at_a_glance_and_marked_in_the_table(findings):
    reports = {name: {"status": "ok", "cautions": []} for name in findings.reports}
    reports["sub-COIHC002"] = {"status": "ok", "cautions": ["The brain has 703 ml.", "Look."]}
    cautioned = toy_findings(reports=reports)

    careful = " ".join(glance_section(cautioned).content["careful"])
    quality = quality_section(cautioned).content

    assert "calls for a look at 1 of 24 subjects (sub-COIHC002)" in careful
    assert quality["n_cautioned"] == 1
    told = {row[0].order: row[-1] for row in quality["subjects"].rows}
    assert told["sub-COIHC002"].text == "The brain has 703 ml. Look."
    assert [name for name, cell in told.items() if cell.flagged] == ["sub-COIHC002"]
    assert quality_section(findings).content["n_cautioned"] == 0


def test_who_was_never_processed_has_no_page_to_link_to():
    findings = toy_findings()
    findings.cohort.loc[0, ["not_enrolled", "included"]] = ["no T1w image", False]

    first = quality_section(findings).content["subjects"].rows[0]

    assert (first[0].text, first[3].text) == (findings.cohort["participant_id"][0], "left out")


def test_an_outlier_is_far_on_the_worse_side_of_its_own_site():
    cohort = pd.DataFrame(
        {"site": ["A"] * 6 + ["B"] * 3, "tsnr": [50, 51, 52, 49, 20, 90, 50, 51, 5.0]}
    )

    marked = outliers(cohort, "tsnr", worse=-1)

    assert marked.tolist() == [False] * 4 + [True] + [False] * 4


def test_every_connection_is_listed_once_with_its_sites_and_weights(findings):
    edges = edge_records(findings, None)

    pairs = {(e["from"], e["to"]) for e in edges}
    expected = {
        (network.index[i], network.columns[j])
        for network in findings.networks.values()
        for i, j in zip(*network.to_numpy().nonzero(), strict=True)
    }
    assert len(edges) == len(pairs)
    assert pairs == expected
    first = edges[0]
    network = findings.networks["MDD", "COI"]
    assert first["weights"]["MDD"]["COI"] == round(network.loc[first["from"], first["to"]], 3)
    assert set(first["weights"]["MDD"]) == set(SITES)
    assert "HC" not in first["weights"]


def test_a_direction_is_kept_turned_or_not_found(findings):
    turned = {key: network.T for key, network in findings.other_scale.items()}
    nothing = {key: 0 * network for key, network in findings.other_scale.items()}

    def flags(other):
        return {direction_flag(e) for e in edge_records(toy_findings(other_scale=other), None)}

    assert flags(findings.other_scale) == {"kept"}
    assert flags(turned) == {"turned"}
    assert flags(nothing) == {"not found"}


def test_stability_shows_where_it_was_computed(findings, pictures):
    first = edge_records(findings, None)[0]
    stability = pd.DataFrame(
        [{"group": "MDD", "from": first["from"], "to": first["to"], "share": 0.8}]
    )

    without = networks_section(findings, pictures).content["edge_table"]
    content = networks_section(findings, pictures, stability).content

    assert content["edges"][0]["stability"] == {"MDD": 0.8, "HC": 0.0}
    assert texts(content["edge_table"])[0][-2:] == ["80%", "0%"]
    assert len(content["edge_table"].columns) == len(without.columns) + 2


def test_a_connection_that_follows_motion_is_marked(findings, pictures):
    table = networks_section(findings, pictures).content["edge_table"]

    place = [column.title for column in table.columns].index("motion r")
    assert [row[place].text for row in table.rows if row[place].flagged] == ["+0.61"]


def test_important_nodes_add_up_as_in_the_paper(findings, pictures):
    content = nodes_section(findings, pictures).content

    first = content["tables"][0]
    assert f"total {sum(int(row[3]) for row in texts(first))}" in first.caption
    assert len(content["tables"]) == 4
    assert [row[1] for row in texts(content["totals"])] == ["top", "all", "top", "all"]


def test_only_a_phantom_has_a_truth(findings, pictures):
    scores = texts(truth_section(findings, pictures).content["scores"])
    other = truth_section(toy_findings("timeseries"), pictures)

    assert scores[0][2:] == ["20", "18", "16", "0.89", "0.80", "0.84"]
    assert "not a phantom" in other.missing


def test_what_was_not_run_says_how_to_run_it(pictures):
    assert "snakemake --cores all comparison" in comparison_section(None, GROUPS, pictures).missing
    assert "snakemake --cores all simulation" in simulations_section(None, None, pictures).missing


def test_a_comparison_that_was_run_is_shown(pictures):
    row = {
        "source": "published", "from": "INS.R", "to": "INS.L", "method": "pc", "n_draws": 20,
        "count_MDD": 9, "count_HC": 2, "difference": 0.35, "low": 0.07, "high": 0.57,
        "p_z": 0.0061, "p_permutation": 0.21, "q_permutation": 0.4, "note": "KUT: few",
    }  # fmt: skip

    content = comparison_section(pd.DataFrame([row]), GROUPS, pictures).content

    assert texts(content["tests"]) == [
        ["INS.R → INS.L", "published", "pc", "9/20", "2/20", "+0.35",
         "+0.07\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}+0.57", "0.21",
         "0.4", "0.0061"]
    ]  # fmt: skip
    assert content["notes"] == ["KUT: few"]


def test_simulations_that_were_run_are_summed_up(pictures):
    wins = pd.DataFrame(
        {"experiment": "sites", "value": [2, 8], "weights": "shared", "metric": "f_score",
         "best": ["pfl_edgewise", "avg"], "runs": 2}
    )  # fmt: skip
    cost = pd.DataFrame(
        {"experiment": ["sites"] * 2 + ["perturbation"] * 4, "value": [2, 2, 5, 5, 30, 30],
         "method": ["sig", "avg"] * 3, "cpu_seconds": [3, 1.5, 4, 1, 5, 2]}
    )  # fmt: skip

    content = simulations_section(wins, cost, pictures).content

    assert [row[-1] for row in texts(content["tally"])] == ["1", "0", "0", "1", "0"]
    assert texts(content["cost"]) == [
        ["sites", "2", "3.00", "1.50"],
        ["perturbation", "5", "4.00", "1.00"],
        ["perturbation", "30", "5.00", "2.00"],
    ]


def test_limits_say_what_holds_for_this_study(findings):
    phantom = dict(limits_section(findings, compared=False).content["limits"])
    series = dict(limits_section(toy_findings("timeseries"), compared=True).content["limits"])

    assert "54 of the 72 connections" in phantom["Directions rest on scale"]
    assert {"A surrogate atlas", "A phantom", "What federation discloses"} <= set(phantom)
    assert "A phantom" not in series
    assert "Preprocessing was not ours" in series
    assert "permutation" in series["Draws overlap"]


def test_provenance_shows_seed_command_certificates_and_samples(findings):
    content = provenance_section(findings, toy_origin()).content

    assert content["seed"] == findings.config["seed"]
    assert content["command"] == "snakemake --cores 4"
    assert "edge_threshold: 0" in content["config"]
    assert [row[:3] for row in texts(content["fits"])] == [
        ["MDD", "yes", "412"],
        ["HC", "yes", "412"],
    ]
    # The networks of edgewise do not depend on the order of sites: no fit in reverse order.
    assert [row[-1] for row in texts(content["fits"])] == ["–", "–"]
    assert texts(content["samples"])[0][2:5] == ["3", "690", "97"]
    assert content["versions"]["notears-pfl"]


def test_benchmarks_are_summed_by_rule(tmp_path):
    (tmp_path / "anatomical").mkdir()
    head = "s\th:m:s\tmax_rss\tmax_vms\tcpu_time\n"
    for name, line in (
        ("anatomical/sub-1", "4.0\t0:00:04\t200.0\t1\t3.0\n"),
        ("anatomical/sub-2", "6.0\t0:00:06\t300.0\t1\t5.0\n"),
        ("cohort", "0.2\t0:00:00\t-\t-\t0\n"),
    ):
        (tmp_path / f"{name}.benchmark.tsv").write_text(head + line)

    costs = read_benchmarks(tmp_path).set_index("rule")

    assert costs.loc["anatomical"].tolist() == [2, 10.0, 8.0, 300.0]
    assert costs.loc["cohort", "jobs"] == 1


def test_no_benchmarks_are_no_error(tmp_path):
    assert read_benchmarks(tmp_path / "logs").empty
