from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/settings.smk"


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/batches.smk"


if PLAN.kind == "phantom":

    include: "workflow/rules/phantom.smk"


include: "workflow/rules/ingest.smk"


if PLAN.source.has_images:

    include: "workflow/rules/roi.smk"
    include: "workflow/rules/preproc.smk"


include: "workflow/rules/cohort.smk"
include: "workflow/rules/network.smk"
include: "workflow/rules/evidence.smk"
include: "workflow/rules/analysis.smk"
include: "workflow/rules/subject_networks.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/federated.smk"
include: "workflow/rules/export.smk"
include: "workflow/rules/report_subjects.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        rules.cohort.output,
        rules.degree.output,
        rules.overlap.output,
        rules.scale_audit.output,
        rules.proportion_tests.output,
        rules.proportion_figure.output,
        rules.evidence.output,
        rules.replication.output,
        rules.scorecard.output if EVIDENCE.get("published") else [],
        rules.report_index.output,
        rules.subject_networks.output,
        rules.weight_regression.output if REGRESS_ON else [],
        rules.export_networks.output,
        rules.table_columns.output,
        rules.describe_derivatives.output,
        rules.describe_preprocessing.output if PLAN.source.has_images else [],
        KEPT_IMAGES if PLAN.source.has_images else [],
        [rules.phantom_cohort.input, rules.truth.output]
        if PLAN.kind == "phantom"
        else [],


rule preprocessing:
    input:
        rules.cohort.input.reports,
        rules.describe_derivatives.output,
        rules.describe_preprocessing.output if PLAN.source.has_images else [],
        KEPT_IMAGES if PLAN.source.has_images else [],


rule simulation:
    input:
        rules.simulation_metrics.output,
        rules.simulation_columns.output,
        rules.simulation_page.output,
        expand(
            rules.simulation_figure.output,
            experiment=SIMULATED_RUNS["experiment"].unique(),
        ),


rule comparison:
    input:
        rules.proportion_tests.output,
        rules.proportion_figure.output,


rule federated_simulation:
    input:
        rules.federated_networks.output,
        rules.federated_agreement.output,
        rules.federated_degree.output,
        rules.federated_overlap.output,
