"""Rule ``moments``: second moments of every subject, which resampling adds up."""

from notears_pfl.cohort.samples import site_samples
from notears_pfl.cohort.split import DISCOVERY
from notears_pfl.cohort.strata import strata_of, strata_without_values
from notears_pfl.evidence.moments import subject_moments
from notears_pfl.evidence.subjects import subject_arrays
from notears_pfl.io.arrays import write_arrays
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
    series = read_subjects(names, paths, params.rois)
    samples = [site_samples({name: series[name]}, params.scale) for name in names]
    moments = subject_moments(
        [own.x for own in samples],
        subjects["site"].map(params.sites.index),
        names=names,
        runs=[own.runs for own in samples],
    )
    print(*strata_without_values(subjects, params.strata), sep="\n", end="")
    arrays = subject_arrays(
        moments,
        subjects["group"] == params.groups[0],
        subjects["split"] == DISCOVERY,
        strata_of(subjects, params.strata),
    )
    write_arrays(arrays | {"participant_id": names}, snakemake.output.moments)
