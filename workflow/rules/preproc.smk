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


# What is made of each run: {run} is its name as in the data, {only} the subject, followed by the
# run's name if the subject has several. A run of fMRIPrep has no slices and no files of the T1w image.
RAW_FILES = {
    "series": f"results/timeseries/sub-{{only}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.tsv",
    "motion": "results/preproc/sub-{subject}/func/sub-{subject}_{run}_desc-motion_timeseries.tsv",
    "confounds": "results/preproc/sub-{subject}/func/sub-{subject}_{run}_desc-confounds_timeseries.tsv",
    "report": f"results/timeseries/sub-{{only}}_seg-{PLAN.atlas.name}_desc-raw_timeseries.json",
}


KEEP = config["preproc"]["keep"]

# Raw images: a T1w image and a BOLD run.
if PLAN.source.has_anatomy:
    ANATOMY_FILES = {
        "brain": "results/preproc/sub-{subject}/anat/sub-{subject}_desc-brain_mask.nii.gz",
        "brain_picture": "results/preproc/sub-{subject}/figures/sub-{subject}_space-T1w_desc-brain_slices.npz",
        "picture": "results/preproc/sub-{subject}/figures/sub-{subject}_space-MNI152_desc-T1w_slices.npz",
        "report": "results/preproc/sub-{subject}/anat/sub-{subject}_desc-preproc_T1w.json",
    }
    # What the steps on the BOLD run start from, and the image to look at; preproc.keep.
    WORKING_FILES = {
        "t1w": "results/preproc/sub-{subject}/anat/sub-{subject}_desc-preproc_T1w.nii.gz",
        "tissues": "results/preproc/sub-{subject}/anat/sub-{subject}_probseg.nii.gz",
        "xfm": "results/preproc/sub-{subject}/anat/sub-{subject}_from-MNI152_to-T1w_xfm.nii.gz",
    }
    WORKING_LIST = "results/batches/anatomical_working/site-{site}_batch-{batch}.tsv"
    # Jobs inherit it. A cleaned image on request is made of these files when all else is done; what
    # it leaves is removed at the next start.
    if workflow.is_main_process:
        on_request = any("_desc-clean_bold." in word for word in sys.argv)
        os.environ[DISCARD] = "1" if KEEP == "minimal" and not on_request else ""
    # Those of batches that are done are left from earlier runs with other settings, or on request.
    if KEEP == "minimal" and WILL_RUN:
        for (site, batch), subjects in PLAN.batches.items():
            remove_used(
                [
                    WORKING_LIST.format(site=site, batch=batch),
                    *(
                        pattern.replace("{subject}", who)
                        for pattern in WORKING_FILES.values()
                        for who in subjects
                    ),
                ],
                by=f"results/batches/functional/site-{site}_batch-{batch}.tsv",
            )
    FUNCTIONAL_FILES = RAW_FILES | {
        "picture": "results/preproc/sub-{subject}/figures/sub-{only}_space-T1w_desc-meanBold_slices.npz",
    }
    # Of these, what the steps on the BOLD run take.
    FROM_ANATOMY = {
        "tissues": WORKING_FILES["tissues"],
        "xfm": WORKING_FILES["xfm"],
        "anatomy": ANATOMY_FILES["report"],
    }

    rule anatomical:
        input:
            raw=raw_files(PLAN.source.t1w),
            template_t1w=rules.brain_template.output.t1w,
            template_tissues=rules.brain_template.output.tissues,
            template_brain=rules.brain_template.output.brain,
            head_t1w=rules.brain_template.output.head_t1w,
            head_depth=rules.brain_template.output.head_depth,
        output:
            "results/batches/anatomical/site-{site}_batch-{batch}.tsv",
            temp(WORKING_LIST) if KEEP == "minimal" else WORKING_LIST,
        log:
            "logs/anatomical/site-{site}_batch-{batch}.log",
        benchmark:
            "logs/anatomical/site-{site}_batch-{batch}.benchmark.tsv"
        wildcard_constraints:
            site="|".join(PLAN.processed_sites),
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=2500,
        params:
            subjects=subjects_of,
            takes=per_subject(t1w=PLAN.source.t1w),
            makes=per_subject(**ANATOMY_FILES, **WORKING_FILES),
            working=list(WORKING_FILES),
            engine={
                step: config["preproc"]["engine"][step]
                for step in ("bias", "brain", "tissues", "normalise")
            },
            code=code_of("anatomical"),
        message:
            "Preprocessing: T1w of batch {wildcards.batch} of {wildcards.site}"
        script:
            "../../scripts/anatomical.py"

    rule functional:
        input:
            raw=raw_files(PLAN.source.bold, PLAN.source.sidecars, of=runs_of),
            anatomical="results/batches/anatomical/site-{site}_batch-{batch}.tsv",
            working=WORKING_LIST,
            brain=rules.brain_template.output.brain,
            labels=rules.atlas.output.labels,
            atlas=rules.atlas.output.report,
        output:
            "results/batches/functional/site-{site}_batch-{batch}.tsv",
        log:
            "logs/functional/site-{site}_batch-{batch}.log",
        benchmark:
            "logs/functional/site-{site}_batch-{batch}.benchmark.tsv"
        wildcard_constraints:
            site="|".join(PLAN.processed_sites),
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=2500,
        params:
            subjects=runs_of,
            takes=per_run(
                bold=PLAN.source.bold, sidecar=PLAN.source.sidecars, **FROM_ANATOMY
            ),
            makes=per_run(**FUNCTIONAL_FILES),
            preproc=RUN_SETTINGS,
            rois=PLAN.atlas.rois,
            code=code_of("functional"),
        message:
            "Preprocessing: BOLD of batch {wildcards.batch} of {wildcards.site}, up to the raw ROI signals"
        script:
            "../../scripts/functional.py"

    CLEAN_BOLD = "results/preproc/sub-{subject}/func/sub-{subject}_{run}_space-MNI152_desc-clean_bold.nii.gz"
    # Images that no result needs, asked for because the user keeps them.
    KEPT_IMAGES = [
        WORKING_LIST.format(site=site, batch=batch)
        for site, batch in (PLAN.batches if KEEP != "minimal" else [])
    ] + [
        of_run(CLEAN_BOLD, run)
        for run in (PLAN.source.runs if KEEP == "all" else [])
    ]

    rule clean_bold:
        input:
            raw=raw_files(PLAN.source.bold, PLAN.source.sidecars, of=runs_of),
            anatomical=batch_with("anatomical"),
            working=batch_with("anatomical_working"),
            functional=batch_with("functional"),
            brain=rules.brain_template.output.brain,
        output:
            bold=CLEAN_BOLD,
            report="results/preproc/sub-{subject}/func/sub-{subject}_{run}_space-MNI152_desc-clean_bold.json",
        log:
            "logs/clean_bold/sub-{subject}_{run}.log",
        benchmark:
            "logs/clean_bold/sub-{subject}_{run}.benchmark.tsv"
        wildcard_constraints:
            run=PLAN.source.run_pattern,
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=2500,
        params:
            subjects=runs_of,
            takes=per_run(
                bold=PLAN.source.bold,
                sidecar=PLAN.source.sidecars,
                **FROM_ANATOMY,
                motion=RAW_FILES["motion"],
                confounds=RAW_FILES["confounds"],
                report=RAW_FILES["report"],
            ),
            preproc=RUN_SETTINGS | {"clean": config["preproc"]["clean"]},
            code=code_of("clean_bold"),
        message:
            "Preprocessing: cleaning the BOLD image of sub-{wildcards.subject}, {wildcards.run}"
        script:
            "../../scripts/clean_bold.py"


# fMRIPrep's runs, which are already in MNI space.
else:
    KEPT_IMAGES = []

    rule fmriprep_run:
        input:
            raw=source_files(
                PLAN.source.bold,
                PLAN.source.sidecars,
                PLAN.source.confounds,
                PLAN.source.confounds_json,
                of=runs_of,
            ),
            brain=rules.brain_template.output.brain,
            labels=rules.atlas.output.labels,
            atlas=rules.atlas.output.report,
        output:
            "results/batches/fmriprep_run/site-{site}_batch-{batch}.tsv",
        log:
            "logs/fmriprep_run/site-{site}_batch-{batch}.log",
        benchmark:
            "logs/fmriprep_run/site-{site}_batch-{batch}.benchmark.tsv"
        wildcard_constraints:
            site="|".join(PLAN.processed_sites),
        conda:
            "../../envs/preproc.yaml"
        threads: 1
        resources:
            mem_mb=4000,
        params:
            subjects=runs_of,
            takes=per_run(
                bold=PLAN.source.bold,
                sidecar=PLAN.source.sidecars,
                confounds=PLAN.source.confounds,
                confounds_json=PLAN.source.confounds_json,
            ),
            makes=per_run(**RAW_FILES),
            preproc={
                key: config["preproc"][key]
                for key in ("style", "drop_volumes", "smooth")
            },
            space=config["source"]["space"],
            rois=PLAN.atlas.rois,
            code=code_of("fmriprep_run"),
        message:
            "Ingestion: fMRIPrep's runs of batch {wildcards.batch} of {wildcards.site}, up to the raw ROI signals"
        script:
            "../../scripts/fmriprep_run.py"


RAW_MAKER = "functional" if PLAN.source.has_anatomy else "fmriprep_run"


rule clean_timeseries:
    input:
        raw=f"results/batches/{RAW_MAKER}/site-{{site}}_batch-{{batch}}.tsv",
    output:
        "results/batches/clean_timeseries/site-{site}_batch-{batch}.tsv",
    log:
        "logs/clean_timeseries/site-{site}_batch-{batch}.log",
    benchmark:
        "logs/clean_timeseries/site-{site}_batch-{batch}.benchmark.tsv"
    wildcard_constraints:
        site="|".join(PLAN.processed_sites),
    conda:
        "../../envs/preproc.yaml"
    params:
        subjects=subjects_of,
        takes=per_subject(
            **{name: of_all_runs(pattern) for name, pattern in RAW_FILES.items()}
        ),
        makes=per_subject(**CLEAN_FILES),
        each=per_subject(
            runs=lambda who: [PLAN.source.runs[run][1] for run in PLAN.runs_of(who)],
            lost=PLAN.source.lost_runs,
        ),
        preproc={key: config["preproc"][key] for key in ("style", "clean")},
        selected=PLAN.atlas.selected,
        min_coverage=config["rois"]["min_coverage"],
        code=code_of("clean_timeseries"),
    message:
        "Preprocessing: cleaning the ROI signals of batch {wildcards.batch} of {wildcards.site}"
    script:
        "../../scripts/clean_timeseries.py"
