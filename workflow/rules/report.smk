import os
import sys

from notears_pfl.io.fingerprint import file_digest, folder_fingerprint

# The page shows the command of the run. If it were in params, every new command would rerun the page.
os.environ.setdefault(
    "NOTEARS_PFL_COMMAND", " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
)

# Results of another target. The page shows those that exist and is rewritten when they change. If
# they were inputs, every report would compute them.
EXTRAS = [
    "results/simulate/metrics.json",
    "results/simulate/wins.tsv",
    "results/simulate/cost.tsv",
    *(f"results/simulate/figure_{e}.png" for e in EXPERIMENTS),
]


rule report_cohort:
    input:
        cohort=rules.cohort.output.participants,
        flow=rules.cohort.output.flow,
    output:
        png=report(
            "results/report/figures/cohort_flow.png",
            caption="../report/cohort_flow.rst",
            category="Cohort",
            labels={"figure": "flow"},
        ),
        svg="results/report/figures/cohort_flow.svg",
    log:
        "logs/report_cohort.log",
    benchmark:
        "logs/report_cohort.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.tables.groups,
        code=code_of("report_cohort"),
    message:
        "Report: flow chart of the subjects"
    script:
        "../../scripts/report_cohort.py"


rule report_balance:
    input:
        balance=rules.cohort.output.balance,
    output:
        png=report(
            "results/report/figures/balance.png",
            caption="../report/balance.rst",
            category="Cohort",
            labels={"figure": "balance"},
        ),
        svg="results/report/figures/balance.svg",
    log:
        "logs/report_balance.log",
    benchmark:
        "logs/report_balance.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.tables.groups,
        code=code_of("report_balance"),
    message:
        "Report: balance of patients and controls"
    script:
        "../../scripts/report_balance.py"


rule report_motion:
    input:
        cohort=rules.cohort.output.participants,
    output:
        png=report(
            "results/report/figures/cohort_motion.png",
            caption="../report/cohort_motion.rst",
            category="Cohort",
            labels={"figure": "motion"},
        ),
        svg="results/report/figures/cohort_motion.svg",
    log:
        "logs/report_motion.log",
    benchmark:
        "logs/report_motion.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.tables.groups,
        limits=config["cohort"]["limits"],
        code=code_of("report_motion"),
    message:
        "Report: head motion by site and group"
    script:
        "../../scripts/report_motion.py"


if PLAN.source.has_anatomy:

    rule report_quality:
        input:
            cohort=rules.cohort.output.participants,
        output:
            png=report(
                "results/report/figures/quality_limits.png",
                caption="../report/quality_limits.rst",
                category="Cohort",
                labels={"figure": "quality of the images"},
            ),
            svg="results/report/figures/quality_limits.svg",
        log:
            "logs/report_quality.log",
        benchmark:
            "logs/report_quality.benchmark.tsv"
        conda:
            "../../envs/report.yaml"
        params:
            groups=PLAN.tables.groups,
            limits=config["cohort"]["limits"],
            code=code_of("report_quality"),
        message:
            "Report: quality of the images against the limits"
        script:
            "../../scripts/report_quality.py"


# Loading the libraries takes longer than drawing a network, so one job draws all networks of a group.
rule report_networks:
    input:
        networks=rules.fit_networks.output.networks,
        sidecars=rules.fit_networks.output.sidecars,
        alone=rules.overlap.output.site_specific,
        rois=config["rois"]["table"],
    output:
        brain=[picture_of(site, "brain") for site in PLAN.sites],
        brain_svg=expand(
            "results/report/figures/network_group-{{group}}_site-{site}_brain.svg",
            site=PLAN.sites,
        ),
        circle=[picture_of(site, "circle") for site in PLAN.sites],
        circle_svg=expand(
            "results/report/figures/network_group-{{group}}_site-{site}_circle.svg",
            site=PLAN.sites,
        ),
        matrix=[picture_of(site, "matrix") for site in PLAN.sites],
        matrix_svg=expand(
            "results/report/figures/network_group-{{group}}_site-{site}_matrix.svg",
            site=PLAN.sites,
        ),
        alone=report(
            "results/report/figures/site_specific_group-{group}.png",
            caption="../report/site_specific.rst",
            category="Findings",
            labels={"figure": "one site only", "group": "{group}"},
        ),
        alone_svg="results/report/figures/site_specific_group-{group}.svg",
    log:
        "logs/report_networks/group-{group}.log",
    benchmark:
        "logs/report_networks/group-{group}.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        sites=PLAN.sites,
        code=code_of("report_networks"),
    message:
        "Report: networks of {wildcards.group}"
    script:
        "../../scripts/report_networks.py"


rule report_overlap:
    input:
        overlap=rules.overlap.output.overlap,
        rois=config["rois"]["table"],
    output:
        png=report(
            "results/report/figures/overlap.png",
            caption="../report/overlap.rst",
            category="Findings",
            labels={"figure": "all sites", "group": "both"},
        ),
        svg="results/report/figures/overlap.svg",
    log:
        "logs/report_overlap.log",
    benchmark:
        "logs/report_overlap.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        code=code_of("report_overlap"),
    message:
        "Report: connections found at all sites"
    script:
        "../../scripts/report_overlap.py"


rule report_evidence:
    input:
        draws=rules.evidence.output.null_counts,
        tested=rules.evidence.output.null_connections,
        replicated=rules.replication.output.edges,
        connections=rules.evidence.output.connections,
    output:
        png=report(
            "results/report/figures/evidence.png",
            caption="../report/evidence.rst",
            category="Findings",
            labels={"figure": "evidence", "group": "both"},
        ),
        svg="results/report/figures/evidence.svg",
    log:
        "logs/report_evidence.log",
    benchmark:
        "logs/report_evidence.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.tables.groups,
        code=code_of("report_evidence"),
    message:
        "Report: findings against chance"
    script:
        "../../scripts/report_evidence.py"


rule report_degree:
    input:
        degree=rules.degree.output.degree,
        top=rules.degree.output.top,
    output:
        png=report(
            "results/report/figures/degree.png",
            caption="../report/degree.rst",
            category="Findings",
            labels={"figure": "important nodes", "group": "both"},
        ),
        svg="results/report/figures/degree.svg",
    log:
        "logs/report_degree.log",
    benchmark:
        "logs/report_degree.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        code=code_of("report_degree"),
    message:
        "Report: important nodes"
    script:
        "../../scripts/report_degree.py"


if PLAN.kind == "phantom":

    rule report_truth:
        input:
            truth=rules.truth.output.table,
        output:
            png=report(
                "results/report/figures/truth.png",
                caption="../report/truth.rst",
                category="Truth of the phantom",
                labels={"figure": "truth"},
            ),
            svg="results/report/figures/truth.svg",
        log:
            "logs/report_truth.log",
        benchmark:
            "logs/report_truth.benchmark.tsv"
        conda:
            "../../envs/report.yaml"
        params:
            code=code_of("report_truth"),
        message:
            "Report: agreement with the phantom's true networks"
        script:
            "../../scripts/report_truth.py"


rule report_index:
    input:
        unpack(makers_of(SLICES)),
        cohort=rules.cohort.output.participants,
        flow=rules.cohort.output.flow,
        table_one=rules.cohort.output.table_one,
        balance=rules.cohort.output.balance,
        reports=rules.cohort.input.reports,
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        fits=expand(rules.fit_networks.output.report, group=PLAN.groups),
        other_scale=expand(
            rules.fit_networks_other_scale.output.networks, group=PLAN.groups
        ),
        degree=rules.degree.output.degree,
        degree_top=rules.degree.output.top,
        degree_totals=rules.degree.output.totals,
        overlap=rules.overlap.output.overlap,
        site_specific=rules.overlap.output.site_specific,
        counts=rules.overlap.output.counts,
        scale_audit=rules.scale_audit.output.table,
        edge_motion=rules.edge_motion.output.table,
        evidence_connections=rules.evidence.output.connections,
        evidence_counts=rules.evidence.output.counts,
        evidence_tested=rules.evidence.output.null_connections,
        evidence_replication=rules.replication.output.summary,
        weight_regression=rules.weight_regression.output.table if REGRESS_ON else [],
        truth=rules.truth.output.table if PLAN.kind == "phantom" else [],
        true_networks=(
            rules.phantom_networks.output.networks if PLAN.kind == "phantom" else []
        ),
        figures=[
            rules.report_cohort.output.png,
            rules.report_balance.output.png,
            rules.report_motion.output.png if PLAN.has_motion else [],
            rules.report_quality.output.png if PLAN.source.has_anatomy else [],
            rules.report_overlap.output.png,
            expand(rules.report_networks.output.alone, group=PLAN.groups),
            rules.report_degree.output.png,
            rules.report_evidence.output.png,
            rules.report_truth.output.png if PLAN.kind == "phantom" else [],
            rules.phantom_figure.output.png if PLAN.kind == "phantom" else [],
        ],
        networks_drawn=expand(
            "results/report/figures/network_group-{group}_site-{site}_{kind}.png",
            group=PLAN.groups,
            site=PLAN.sites,
            kind=("brain", "circle", "matrix"),
        ),
        pages=expand(rules.report_subjects.output.pages, site=PLAN.processed_sites),
        sheets=(
            expand(rules.report_contact_sheet.output.page, site=PLAN.processed_sites)
            if PLAN.source.has_anatomy
            else []
        ),
        comparison=[
            COMPARISON["connections"],
            rules.proportion_tests.output.tests,
            rules.proportion_tests.output.record,
            rules.proportion_tests.output.edges,
            rules.proportion_figure.output.png,
            expand(rules.compare_networks.output.edges, draw=DRAWS),
        ],
        study=[
            config["sites"],
            config["rois"]["table"],
            PLAN.source.participants_table,
        ],
        series=rules.fit_networks.input.series,
    output:
        page=report(
            "results/report/index.html",
            caption="../report/page.rst",
            category="Report",
            labels={"figure": "the whole report"},
        ),
        tables=directory("results/report/tables"),
        checksums="results/report/checksums.txt",
        provenance="results/provenance.json",
    log:
        "logs/report_index.log",
    benchmark:
        "logs/report_index.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        config=config,
        atlas=PLAN.atlas.record,
        groups=PLAN.tables.groups,
        sites=PLAN.sites,
        participants=PLAN.participants,
        files=SLICES,
        extras={path: file_digest(path) for path in EXTRAS if Path(path).is_file()},
        settings={
            "comparison": COMPARISON_SETTINGS,
            "simulation": SIMULATION_SETTINGS,
        },
        code=code_of("report_index"),
        looks=folder_fingerprint(SRC / "notears_pfl/report/templates"),
    message:
        "Report: results/report/index.html"
    script:
        "../../scripts/report_index.py"
