rule brain_template:
    output:
        t1w="results/preproc/template/tpl-MNI152_desc-brain_T1w.nii.gz",
        tissues="results/preproc/template/tpl-MNI152_probseg.nii.gz",
        brain="results/preproc/template/tpl-MNI152_desc-brain_mask.nii.gz",
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
        "Preprocessing: the MNI152 brain, its tissues and mask"
    script:
        "../../scripts/brain_template.py"
