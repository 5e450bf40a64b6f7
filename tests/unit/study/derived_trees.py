"""Trees of ROI series as XCP-D and giga_connectome write them."""

import json

import numpy as np
import pandas as pd

ROIS = ["A", "B", "C"]


def write_xcpd_run(
    root, subject, run, series, outliers=None, motion=None, atlas="atlas-4S156Parcels"
):
    """Write a run's series and what XCP-D puts beside them; ``run`` as ``task-rest_run-01``."""
    session = [part for part in run.split("_") if part.startswith("ses-")]
    func = root.joinpath(f"sub-{subject}", *session, "func")
    func.mkdir(parents=True, exist_ok=True)
    stem = func / f"sub-{subject}_{run}"
    name = f"{stem}_space-MNI152NLin2009cAsym_{atlas}_stat-mean_timeseries"
    frame = pd.DataFrame(series)
    frame.to_csv(f"{name}.tsv", sep="\t", index=False, na_rep="n/a")
    # The unit of the repetition time, not its value, is what XCP-D writes.
    (func / f"{name.rsplit('/', 1)[1]}.json").write_text(json.dumps({"SamplingFrequency": "TR"}))
    for suffix, values in (("outliers", outliers), ("motion", motion)):
        if values is not None:
            table = pd.DataFrame({"framewise_displacement": values})
            table.to_csv(f"{stem}_{suffix}.tsv", sep="\t", index=False, na_rep="n/a")


def write_giga_run(root, subject, run, values, fd=0.2):
    """Write a run's series as giga_connectome does: columns are counted from 0."""
    func = root / f"sub-{subject}/func"
    func.mkdir(parents=True, exist_ok=True)
    stem = f"sub-{subject}_{run}"
    frame = pd.DataFrame(np.asarray(values))
    name = f"{stem}_seg-Schaefer2018100Parcels7Networks_desc-denoiseSimple_timeseries.tsv"
    frame.to_csv(func / name, sep="\t", index=False)
    sidecar = {"SamplingFrequency": 0.5, "MeanFramewiseDisplacement": fd}
    (func / f"{stem}_desc-denoiseSimple_timeseries.json").write_text(json.dumps(sidecar))
