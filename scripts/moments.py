"""Rule ``moments``: second moments of every subject, which resampling adds up."""

from notears_pfl.cohort.samples import site_samples
from notears_pfl.cohort.split import DISCOVERY
from notears_pfl.cohort.strata import strata_of, strata_without_values
from notears_pfl.evidence.moments import subject_sums
from notears_pfl.io.arrays import write_records
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.networks import read_subjects
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table

with rule_log(snakemake.log[0]):
    params = snakemake.params
    cohort = read_table(snakemake.input.cohort)
    subjects = cohort[cohort["included"] & cohort["site"].isin(params.sites)]
    names = subjects["participant_id"].tolist()
    paths = ListedFiles(snakemake.input.series, "series", params.participants)
    # One subject at a time: the series of a large study do not fit the memory.
    series = (
        site_samples(read_subjects([name], paths, params.rois), params.scale) for name in names
    )
    samples = ((name, own.x, own.runs) for name, own in zip(names, series, strict=True))
    print(*strata_without_values(subjects, params.strata), sep="\n", end="")
    who = {
        "site": subjects["site"].map(params.sites.index).to_numpy(),
        "patients": (subjects["group"] == params.groups[0]).to_numpy(),
        "discovery": (subjects["split"] == DISCOVERY).to_numpy(),
        "strata": strata_of(subjects, params.strata),
        "participant_id": names,
    }
    write_records(subject_sums(samples), len(names), who, snakemake.output.moments)
