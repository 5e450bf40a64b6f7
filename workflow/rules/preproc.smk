RUN_SETTINGS = {
    key: config["preproc"][key]
    for key in (
        "style",
        "drop_volumes",
        "slice_timing",
        "motion_from",
        "resample",
        "smooth",
    )
} | {
    "engine": {
        step: config["preproc"]["engine"][step]
        for step in ("slice_timing", "realign", "coregister")
    }
}


rule brain_template:
    output:
        t1w="results/preproc/template/tpl-MNI152_desc-brain_T1w.nii.gz",
        tissues="results/preproc/template/tpl-MNI152_probseg.nii.gz",
        brain="results/preproc/template/tpl-MNI152_desc-brain_mask.nii.gz",
        head_t1w="results/preproc/template/tpl-MNI152_desc-head_T1w.nii.gz",
        head_depth="results/preproc/template/tpl-MNI152_desc-brainDepth_map.nii.gz",
    log:
        "logs/brain_template.log",
    benchmark:
        "logs/brain_template.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    params:
        resolution_mm=2,
        code=code_of("brain_template"),
    message:
        "Preprocessing: writing the MNI152 brain, its tissues and mask, and the head template"
    script:
        "../../scripts/brain_template.py"


# Raw images: a T1w image and a BOLD run.
if PLAN.source.has_anatomy:

    rule anatomical:
        input:
            t1w=PLAN.source.t1w,
            template_t1w=rules.brain_template.output.t1w,
            template_tissues=rules.brain_template.output.tissues,
            template_brain=rules.brain_template.output.brain,
            head_t1w=rules.brain_template.output.head_t1w,
            head_depth=rules.brain_template.output.head_depth,
        output:
            t1w="results/preproc/sub-{subject}/anat/sub-{subject}_desc-preproc_T1w.nii.gz",
            brain="results/preproc/sub-{subject}/anat/sub-{subject}_desc-brain_mask.nii.gz",
            tissues="results/preproc/sub-{subject}/anat/sub-{subject}_probseg.nii.gz",
            xfm="results/preproc/sub-{subject}/anat/sub-{subject}_from-MNI152_to-T1w_xfm.nii.gz",
            brain_picture="results/preproc/sub-{subject}/figures/sub-{subject}_space-T1w_desc-brain_slices.npz",
            picture="results/preproc/sub-{subject}/figures/sub-{subject}_space-MNI152_desc-T1w_slices.npz",
            report="results/preproc/sub-{subject}/anat/sub-{subject}_desc-preproc_T1w.json",
        log:
            "logs/anatomical/sub-{subject}.log",
        benchmark:
            "logs/anatomical/sub-{subject}.benchmark.tsv"
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=2500,
        params:
            engine={
                step: config["preproc"]["engine"][step]
                for step in ("bias", "brain", "tissues", "normalise")
            },
            code=code_of("anatomical"),
        message:
            "Preprocessing: T1w of sub-{wildcards.subject}"
        script:
            "../../scripts/anatomical.py"

    rule functional:
        input:
            bold=PLAN.source.bold,
            sidecar=PLAN.source.sidecars,
            tissues=rules.anatomical.output.tissues,
            xfm=rules.anatomical.output.xfm,
            anatomy=rules.anatomical.output.report,
            brain=rules.brain_template.output.brain,
            labels=rules.atlas.output.labels,
            atlas=rules.atlas.output.report,
        output:
            series=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.tsv",
            motion="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-motion_timeseries.tsv",
            confounds="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-confounds_timeseries.tsv",
            picture="results/preproc/sub-{subject}/figures/sub-{subject}_space-T1w_desc-meanBold_slices.npz",
            report=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.json",
        log:
            "logs/functional/sub-{subject}.log",
        benchmark:
            "logs/functional/sub-{subject}.benchmark.tsv"
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=2500,
        params:
            preproc=RUN_SETTINGS,
            rois=PLAN.atlas.rois,
            code=code_of("functional"),
        message:
            "Preprocessing: BOLD of sub-{wildcards.subject}, up to the raw ROI signals"
        script:
            "../../scripts/functional.py"

    rule clean_bold:
        input:
            bold=PLAN.source.bold,
            sidecar=PLAN.source.sidecars,
            tissues=rules.anatomical.output.tissues,
            xfm=rules.anatomical.output.xfm,
            anatomy=rules.anatomical.output.report,
            brain=rules.brain_template.output.brain,
            motion=rules.functional.output.motion,
            confounds=rules.functional.output.confounds,
            report=rules.functional.output.report,
        output:
            bold="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_space-MNI152_desc-clean_bold.nii.gz",
            report="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_space-MNI152_desc-clean_bold.json",
        log:
            "logs/clean_bold/sub-{subject}.log",
        benchmark:
            "logs/clean_bold/sub-{subject}.benchmark.tsv"
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=2500,
        params:
            preproc=RUN_SETTINGS | {"clean": config["preproc"]["clean"]},
            code=code_of("clean_bold"),
        message:
            "Preprocessing: cleaning the BOLD image of sub-{wildcards.subject}"
        script:
            "../../scripts/clean_bold.py"


# fMRIPrep's runs, which are already in MNI space.
else:

    rule fmriprep_run:
        input:
            bold=PLAN.source.bold,
            sidecar=PLAN.source.sidecars,
            confounds=PLAN.source.confounds,
            brain=rules.brain_template.output.brain,
            labels=rules.atlas.output.labels,
            atlas=rules.atlas.output.report,
        output:
            series=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.tsv",
            motion="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-motion_timeseries.tsv",
            confounds="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-confounds_timeseries.tsv",
            report=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.json",
        log:
            "logs/fmriprep_run/sub-{subject}.log",
        benchmark:
            "logs/fmriprep_run/sub-{subject}.benchmark.tsv"
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=4000,
        params:
            preproc={
                key: config["preproc"][key]
                for key in ("style", "drop_volumes", "smooth")
            },
            space=config["source"]["space"],
            rois=PLAN.atlas.rois,
            code=code_of("fmriprep_run"),
        message:
            "Ingestion: fMRIPrep's run of sub-{wildcards.subject}, up to the raw ROI signals"
        script:
            "../../scripts/fmriprep_run.py"


rule clean_timeseries:
    input:
        series=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.tsv",
        report=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.json",
        motion="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-motion_timeseries.tsv",
        confounds="results/preproc/sub-{subject}/func/sub-{subject}_task-rest_desc-confounds_timeseries.tsv",
    output:
        series=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-clean_timeseries.tsv",
        report=f"results/timeseries/sub-{{subject}}_seg-{PLAN.atlas.name}_desc-clean_timeseries.json",
    log:
        "logs/clean_timeseries/sub-{subject}.log",
    benchmark:
        "logs/clean_timeseries/sub-{subject}.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    params:
        preproc={key: config["preproc"][key] for key in ("style", "clean")},
        selected=PLAN.atlas.selected,
        min_coverage=config["rois"]["min_coverage"],
        code=code_of("clean_timeseries"),
    message:
        "Preprocessing: cleaning the ROI signals of sub-{wildcards.subject}"
    script:
        "../../scripts/clean_timeseries.py"
