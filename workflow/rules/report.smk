import os
import sys

from notears_pfl.io.fingerprint import file_digest, folder_fingerprint

# The page says by which command it was made; a setting in params would rerun it for every other.
os.environ.setdefault(
    "NOTEARS_PFL_COMMAND", " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
)

HAS_MOTION = HAS_IMAGES or "mean_fd_mm" in SUBJECTS
# What targets of their own make. The page shows what is there, and is made again when it changes,
# but never asks for it: as inputs, they would be run or brought up to date.
EXTRAS = [
    COMPARISON["connections"],
    "results/compare/proportion_tests.tsv",
    "results/compare/proportion_tests.json",
    "results/compare/edges.tsv",
    "results/compare/figure_proportions.png",
    *expand(rules.compare_networks.output.edges, draw=DRAWS),
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
        groups=tuple(GROUPS),
        code=code_of("report_cohort"),
    message:
        "Report: flow of the subjects"
    script:
        "../../scripts/report_cohort.py"


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
        groups=tuple(GROUPS),
        limits=config["cohort"]["limits"],
        code=code_of("report_motion"),
    message:
        "Report: motion by site and group"
    script:
        "../../scripts/report_motion.py"


# Drawing libraries take longer to load than a network to draw: one job for all of a group.
rule report_networks:
    input:
        networks=rules.fit_networks.output.networks,
        sidecars=rules.fit_networks.output.sidecars,
        alone=rules.overlap.output.site_specific,
        rois=config["rois"]["table"],
    output:
        brain=[picture_of(site, "brain") for site in SITES],
        brain_svg=expand(
            "results/report/figures/network_group-{{group}}_site-{site}_brain.svg",
            site=SITES,
        ),
        circle=[picture_of(site, "circle") for site in SITES],
        circle_svg=expand(
            "results/report/figures/network_group-{{group}}_site-{site}_circle.svg",
            site=SITES,
        ),
        matrix=[picture_of(site, "matrix") for site in SITES],
        matrix_svg=expand(
            "results/report/figures/network_group-{{group}}_site-{site}_matrix.svg",
            site=SITES,
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
        sites=SITES,
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
        groups=tuple(GROUPS),
        sites=SITES,
        code=code_of("report_overlap"),
    message:
        "Report: connections of all sites"
    script:
        "../../scripts/report_overlap.py"


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
        groups=tuple(GROUPS),
        sites=SITES,
        code=code_of("report_degree"),
    message:
        "Report: important nodes"
    script:
        "../../scripts/report_degree.py"


rule report_index:
    input:
        cohort=rules.cohort.output.participants,
        flow=rules.cohort.output.flow,
        table_one=rules.cohort.output.table_one,
        reports=rules.cohort.input.reports,
        networks=expand(rules.fit_networks.output.networks, group=GROUPS),
        fits=expand(rules.fit_networks.output.report, group=GROUPS),
        other_scale=expand(rules.fit_networks_other_scale.output.networks, group=GROUPS),
        degree=rules.degree.output.degree,
        degree_top=rules.degree.output.top,
        degree_totals=rules.degree.output.totals,
        overlap=rules.overlap.output.overlap,
        site_specific=rules.overlap.output.site_specific,
        counts=rules.overlap.output.counts,
        scale_audit=rules.scale_audit.output.table,
        edge_motion=rules.edge_motion.output.table,
        truth=rules.truth.output.table if KIND == "phantom" else [],
        true_networks=(
            rules.phantom_networks.output.networks if KIND == "phantom" else []
        ),
        figures=[
            rules.report_cohort.output.png,
            rules.report_motion.output.png if HAS_MOTION else [],
            rules.report_overlap.output.png,
            expand(rules.report_networks.output.alone, group=GROUPS),
            rules.report_degree.output.png,
            rules.report_truth.output.png if KIND == "phantom" else [],
            rules.phantom_figure.output.png if KIND == "phantom" else [],
        ],
        networks_drawn=expand(
            "results/report/figures/network_group-{group}_site-{site}_{kind}.png",
            group=GROUPS,
            site=SITES,
            kind=("brain", "circle", "matrix"),
        ),
        pages=expand(rules.report_subjects.output.pages, site=ALL_SITES),
        study=[config["sites"], config["rois"]["table"], PARTICIPANTS_TABLE],
        series=rules.fit_networks.input.series,
    output:
        page=report(
            "results/report/index.html",
            caption="../report/page.rst",
            category="Report",
            labels={"figure": "the whole report"},
        ),
        checksums="results/report/checksums.txt",
    log:
        "logs/report_index.log",
    benchmark:
        "logs/report_index.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        config=config,
        groups=tuple(GROUPS),
        sites=SITES,
        participants=PARTICIPANTS,
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
