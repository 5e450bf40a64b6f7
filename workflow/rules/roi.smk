# The phantom brings its own regions; a study of people takes AAL, from a file or its makers.
ATLAS = config["rois"]["atlas"]
if ATLAS == "auto":
    ATLAS = "surrogate" if KIND == "phantom" else "nilearn"
AAL_CODES = STUDY.rois["aal_code"].tolist() if "aal_code" in STUDY.rois else []

if ATLAS == "surrogate":
    ATLAS_IMAGE = rules.phantom_template.output.labels
elif ATLAS == "nilearn":
    ATLAS_IMAGE = "results/roi/AAL.nii"
else:
    ATLAS_IMAGE = ATLAS


# Compute nodes of a cluster have no network.
localrules:
    fetch_aal,


rule fetch_aal:
    output:
        image="results/roi/AAL.nii",
    log:
        "logs/fetch_aal.log",
    benchmark:
        "logs/fetch_aal.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    params:
        aal_codes=AAL_CODES,
        aal_names=STUDY.rois["aal_name"].tolist() if AAL_CODES else [],
        code=code_of("fetch_aal"),
    message:
        "ROIs: downloading AAL"
    script:
        "../../scripts/fetch_aal.py"


rule atlas:
    input:
        image=ATLAS_IMAGE,
    output:
        labels="results/roi/seg-AAL116_dseg.nii.gz",
        report="results/roi/seg-AAL116_dseg.json",
    log:
        "logs/atlas.log",
    benchmark:
        "logs/atlas.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    params:
        atlas=ATLAS,
        sha256=config["rois"].get("atlas_sha256"),
        codes=AAL_CODES,
        rois=STUDY.rois.index.tolist(),
        coordinates=STUDY.rois[["x", "y", "z"]].to_numpy().tolist(),
        code=code_of("atlas"),
    message:
        "ROIs: the parcellation ({params.atlas}), checked against the table's coordinates"
    script:
        "../../scripts/atlas.py"


rule clean_timeseries:
    input:
        series="results/timeseries/sub-{subject}_seg-AAL116_desc-raw_timeseries.tsv",
        report="results/timeseries/sub-{subject}_seg-AAL116_desc-raw_timeseries.json",
        motion="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-motion_timeseries.tsv",
        confounds="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-confounds_timeseries.tsv",
    output:
        series="results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.tsv",
        report="results/timeseries/sub-{subject}_seg-AAL116_desc-clean_timeseries.json",
    log:
        "logs/clean_timeseries/sub-{subject}.log",
    benchmark:
        "logs/clean_timeseries/sub-{subject}.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    params:
        preproc={key: config["preproc"][key] for key in ("style", "clean")},
        selected=SELECTED,
        min_coverage=config["rois"]["min_coverage"],
        code=code_of("clean_timeseries"),
    message:
        "Preprocessing: cleaning the ROI signals of sub-{wildcards.subject}"
    script:
        "../../scripts/clean_timeseries.py"
