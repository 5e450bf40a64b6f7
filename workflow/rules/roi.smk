# The phantom brings its own regions; a study of people brings a file.
ATLAS = (
    rules.phantom_template.output.labels
    if config["rois"]["atlas"] == "surrogate"
    else config["rois"]["atlas"]
)


rule atlas:
    input:
        image=ATLAS,
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
        atlas=config["rois"]["atlas"],
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
