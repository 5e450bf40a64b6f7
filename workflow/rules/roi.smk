# The phantom has its own surrogate regions; real images use AAL, downloaded, or any atlas from a file.
ATLAS_IMAGE = {
    "surrogate": "results/phantom/template/tpl-MNI152_seg-surrogate_dseg.nii.gz",
    "nilearn": "results/roi/AAL.nii",
}.get(PLAN.atlas.origin, PLAN.atlas.origin)


# Compute nodes of a cluster often have no internet access.
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
        aal_codes=PLAN.atlas.column("aal_code"),
        aal_names=PLAN.atlas.column("aal_name"),
        code=code_of("fetch_aal"),
    message:
        "ROIs: downloading AAL"
    script:
        "../../scripts/fetch_aal.py"


rule atlas:
    input:
        image=ATLAS_IMAGE,
    output:
        labels=f"results/roi/seg-{PLAN.atlas.name}_dseg.nii.gz",
        report=f"results/roi/seg-{PLAN.atlas.name}_dseg.json",
    log:
        "logs/atlas.log",
    benchmark:
        "logs/atlas.benchmark.tsv"
    conda:
        "../../envs/preproc.yaml"
    params:
        atlas=PLAN.atlas.origin,
        sha256=config["rois"].get("atlas_sha256"),
        description=PLAN.atlas.record,
        codes=PLAN.atlas.codes,
        rois=PLAN.atlas.rois,
        coordinates=PLAN.atlas.coordinates,
        code=code_of("atlas"),
    message:
        "ROIs: checking the parcellation ({params.atlas}) against the coordinates of the ROI table"
    script:
        "../../scripts/atlas.py"
