from notears_pfl.io.columns import COLUMNS
from notears_pfl.io.fingerprint import file_digest


rule export_networks:
    input:
        networks=expand(rules.fit_networks.output.networks, group=PLAN.groups),
        details=expand(rules.fit_networks.output.edges, group=PLAN.groups),
        bootstraps=rules.evidence.input.bootstraps,
        tests=rules.evidence.output.connections,
        regions=config["rois"]["table"],
    output:
        edges="results/export/edges.tsv",
        nodes="results/export/nodes.tsv",
        graphs=expand(
            "results/export/group-{group}_site-{site}.{program}",
            group=PLAN.groups,
            site=PLAN.sites,
            program=("graphml", "node", "edge"),
        ),
        overlap=expand(
            "results/export/group-{group}_overlap.{program}",
            group=PLAN.groups,
            program=("graphml", "node", "edge"),
        ),
    log:
        "logs/export_networks.log",
    benchmark:
        "logs/export_networks.benchmark.tsv"
    conda:
        "../../envs/analysis.yaml"
    params:
        groups=PLAN.groups,
        sites=PLAN.sites,
        group_sites=PLAN.group_sites,
        rois=PLAN.atlas.selected,
        edge_threshold=config["analysis"]["edge_threshold"],
        code=code_of("export_networks"),
    message:
        "Export: networks as tables, GraphML and files for BrainNet Viewer"
    script:
        "../../scripts/export_networks.py"


# Dictionaries without sub-… or draw-… apply to all tables with their ending.
rule table_columns:
    output:
        participants="results/cohort/participants.json",
        cohort=expand(
            "results/cohort/{table}.json", table=("flow", "table_one", "balance")
        ),
        fit=expand("results/fit/group-{group}_edges.json", group=PLAN.groups),
        other_scale=expand(
            "results/fit/other_scale/group-{group}_edges.json", group=PLAN.groups
        ),
        analysis=expand(
            "results/analysis/{table}.json",
            table=(
                "connection_counts",
                "degree",
                "degree_top",
                "degree_totals",
                "edge_motion",
                "overlap",
                "scale_audit",
                "site_specific",
            ),
        ),
        evidence=expand(
            "results/evidence/{table}.json",
            table=(
                "connections",
                "counts",
                "degree",
                "null_connections",
                "null_counts",
                "replicated_edges",
                "replication",
                "site_specific",
                *(["scorecard"] if EVIDENCE.get("published") else []),
            ),
        ),
        compare=expand(
            "results/compare/{table}.json",
            table=("connections", "cost", "draw_sites", "draws", "edges"),
        ),
        draws=expand(
            "results/compare/draws/{table}.json", table=("cost", "edges", "networks")
        ),
        export=expand("results/export/{table}.json", table=("edges", "nodes")),
        subject_networks=expand(
            "results/subject_networks/group-{group}_site-{site}_weights.json",
            group=PLAN.groups,
            site=PLAN.sites,
        ),
        regression="results/subject_networks/regression.json" if REGRESS_ON else [],
        phantom=(
            [
                "results/analysis/truth.json",
                *expand(
                    "results/fit/true_series/group-{group}_edges.json",
                    group=PLAN.groups,
                ),
                *expand(
                    "results/phantom/truth/{table}.json",
                    table=(
                        "edges",
                        "desc-motion_timeseries",
                        "seg-surrogate_timeseries",
                    ),
                ),
            ]
            if PLAN.kind == "phantom"
            else []
        ),
    log:
        "logs/table_columns.log",
    benchmark:
        "logs/table_columns.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        groups=PLAN.groups,
        regions=PLAN.atlas.rois,
        others={
            str(name): f"As in {PLAN.source.participants_table}"
            for name in PLAN.source.participants
        },
        dictionary=file_digest(COLUMNS),
        code=code_of("table_columns"),
    message:
        "Export: dictionaries of the columns of all tables"
    script:
        "../../scripts/table_columns.py"


use rule table_columns as simulation_columns with:
    output:
        expand("results/simulate/{table}.json", table=("wins", "cost")),
    log:
        "logs/simulation_columns.log",
    benchmark:
        "logs/simulation_columns.benchmark.tsv"
    message:
        "Export: dictionaries of the columns of the simulations' tables"


rule describe_derivatives:
    output:
        description="results/timeseries/dataset_description.json",
        readme="results/timeseries/README",
        ignored="results/timeseries/.bidsignore",
        tables=expand(
            "results/timeseries/seg-{atlas}_desc-{state}_timeseries.json",
            atlas=PLAN.atlas.name,
            state=("raw", "clean") if PLAN.source.has_images else ("clean",),
        ),
        sidecars=[],
    log:
        "logs/describe_derivatives.log",
    benchmark:
        "logs/describe_derivatives.benchmark.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        sources=["../preproc"] if PLAN.source.has_images else source_datasets,
        groups=PLAN.groups,
        regions=PLAN.atlas.rois,
        dictionary=file_digest(COLUMNS),
        code=code_of("describe_derivatives"),
    message:
        "Export: describing the time series as BIDS derivatives"
    script:
        "../../scripts/describe_derivatives.py"


if PLAN.source.has_images:

    use rule describe_derivatives as describe_preprocessing with:
        output:
            description="results/preproc/dataset_description.json",
            readme="results/preproc/README",
            ignored="results/preproc/.bidsignore",
            tables=expand(
                "results/preproc/desc-{table}_timeseries.json",
                table=("motion", "confounds"),
            ),
            sidecars=(
                expand(
                    "results/preproc/{image}.json",
                    image=("desc-preproc_T1w", "desc-brain_mask", "probseg"),
                )
                if PLAN.source.has_anatomy
                else []
            ),
        log:
            "logs/describe_preprocessing.log",
        benchmark:
            "logs/describe_preprocessing.benchmark.tsv"
        params:
            sources=["../bids"] if PLAN.source.makes_bids else source_datasets,
            groups=PLAN.groups,
            regions=PLAN.atlas.rois,
            dictionary=file_digest(COLUMNS),
            code=code_of("describe_derivatives"),
        message:
            "Export: describing the preprocessed images as BIDS derivatives"
