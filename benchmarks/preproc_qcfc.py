"""QC-FC: how connectivity goes with movement over subjects, before and after cleaning.

    python benchmarks/preproc_qcfc.py [--subjects 200] [--site COI]
    python benchmarks/preproc_qcfc.py --results results    # of a finished study, from its files

Without ``--results`` no image is made: each subject's ROI signals are the phantom's own series,
its artefact of movement and its drift, at the regions' coordinates, and the noise of a region's
mean. The artefact grows in proportion to the subject's mean displacement, as it does in people;
in the phantom's images it is equally large in everyone, so that QC-FC is at chance there.
Motion is known up to the error that realignment has at full resolution. True connectivity does
not depend on movement: what QC-FC the true series show is chance. The planted artefact lies in
the span of the Friston 24 (of the true motion); what people add beyond that is not shown here.

Per way of cleaning: the median over edges of |r| between connectivity (Fisher's z) and mean
displacement, the share of edges with p < 0.05 (chance: 5 %), and distance dependence, the rank
correlation of an edge's r with its length. Also how far connectivity is from the true one.
"""

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from scipy.stats import spearmanr, t

from notears_pfl.acquisition import MOTION
from notears_pfl.phantom.movement import MotionOptions, artefact_courses, random_motion
from notears_pfl.phantom.scanner import PATTERN_MM
from notears_pfl.phantom.signals import SignalOptions, draw_series
from notears_pfl.phantom.true_networks import (
    NetworkOptions,
    draw_edges,
    over_all_regions,
    true_network,
)
from notears_pfl.preproc.clean import (
    CleanOptions,
    band_pass,
    clean_signals,
    detrend,
)
from notears_pfl.preproc.nuisance import friston24
from notears_pfl.preproc.realign import displacement_power
from notears_pfl.seeds import stream

ROOT = Path(__file__).parents[1]
DROPPED = 10
# Error of realignment at full resolution, per axis (preproc_phantom.py): mm and radians.
MOTION_ERROR = np.array([0.02] * 3 + [np.radians(0.02)] * 3)
# A region's mean averages the noise of this many voxels.
N_VOXELS = 250


def cleanings(motion, tr):
    """Ways of cleaning, by name, with this subject's motion (volumes, 6)."""
    none = motion[:, :0]
    clean = partial(clean_signals, tr=tr)
    return {
        "band-pass alone": lambda x: band_pass(detrend(x), tr, 0.01, 0.08),
        "six, dparsf order": partial(clean, confounds=motion, options=CleanOptions()),
        "Friston-24, dparsf order": partial(
            clean, confounds=friston24(motion), options=CleanOptions()
        ),
        "Friston-24, simultaneous": partial(
            clean, confounds=friston24(motion), options=CleanOptions("simultaneous")
        ),
        "simultaneous, no motion": partial(
            clean, confounds=none, options=CleanOptions("simultaneous")
        ),
    }


def edges_of(series):
    """Fisher's z of the correlations between regions, one row of edges."""
    matrix = np.corrcoef(series.T)
    return np.arctanh(matrix[np.triu_indices(len(matrix), 1)])


def qc_fc(edges, displacement, lengths_mm):
    """Median |r|, share of edges with p < 0.05, and distance dependence; over subjects."""
    usable = np.isfinite(edges).all(axis=0)
    edges, lengths_mm = edges[:, usable], lengths_mm[usable]
    n = len(edges)
    x, y = displacement - displacement.mean(), edges - edges.mean(axis=0)
    r = x @ y / np.sqrt((x @ x) * (y**2).sum(axis=0))
    p = 2 * t.sf(np.abs(r) * np.sqrt((n - 2) / (1 - r**2)), n - 2)
    return {
        "median_abs_r": np.median(np.abs(r)),
        "share_p_below_0.05": np.mean(p < 0.05),
        "distance_dependence": spearmanr(r, lengths_mm).statistic,
    }


def simulated(arguments, config, rois):
    """Edges by way of cleaning, mean displacement, and the error of connectivity."""
    site = pd.read_csv(ROOT / config["sites"], sep="\t").set_index("site").loc[arguments.site]
    tr, n_volumes, phantom = site["repetition_time"], site["n_volumes"], config["phantom"]
    selected = rois.loc[rois["selected"], "abbreviation"].tolist()
    options = NetworkOptions(**phantom["network"])
    drawn = draw_edges(stream(1, "edges"), selected, [arguments.site], options)
    weights = true_network(
        stream(1, "weights"), drawn, selected, arguments.site, True, options.weight_variation
    )
    network = over_all_regions(weights, rois["abbreviation"].tolist()).to_numpy()
    patterns = np.vstack([np.ones(len(rois)), rois[["x", "y", "z"]].to_numpy().T / PATTERN_MM])
    scanner = phantom["scanner"]
    names = [f"subject {number}" for number in range(arguments.subjects)]
    motions = [
        random_motion(stream(1, name, "motion"), n_volumes, MotionOptions(**phantom["motion"]))
        for name in names
    ]
    displacement = np.array([displacement_power(motion).mean() for motion in motions])
    growth = displacement / np.median(displacement)
    edges, errors = {}, {}
    for name, motion, size in zip(names, motions, growth, strict=True):
        draw = partial(stream, 1, name)
        truth = 100 * draw_series(
            draw("series"), network, n_volumes, tr, SignalOptions(**phantom["signal"])
        ).at(0)
        artefact = artefact_courses(draw("artefact"), motion, len(patterns)) @ patterns
        drift = np.outer(np.linspace(-0.5, 0.5, n_volumes), draw("drift").uniform(-1, 1, len(rois)))
        noise = draw("noise").standard_normal(truth.shape) / np.sqrt(N_VOXELS)
        found = (
            truth
            + scanner["artefact_percent"] * size * artefact
            + scanner["drift_percent"] * drift
            + scanner["noise_percent"] * noise
        )[DROPPED:]
        measured = motion + MOTION_ERROR * draw("realignment").standard_normal(motion.shape)
        ways = cleanings(measured[DROPPED:], tr)
        series = {way: clean(found) for way, clean in ways.items()}
        series["truth, band-pass alone"] = ways["band-pass alone"](truth[DROPPED:])
        true = np.tanh(edges_of(series["truth, band-pass alone"]))
        for way, cleaned in series.items():
            edges.setdefault(way, []).append(edges_of(cleaned))
            errors.setdefault(way, []).append(np.mean((np.tanh(edges[way][-1]) - true) ** 2))
    fc_error = {way: np.sqrt(np.mean(squares)) for way, squares in errors.items()}
    return {way: np.stack(rows) for way, rows in edges.items()}, displacement, fc_error


def finished(results: Path):
    """Edges by way of cleaning and mean displacement, from the files of a finished study."""
    edges, displacement = {}, []
    for path in sorted(results.glob("timeseries/sub-*_desc-raw_timeseries.json")):
        report = json.loads(path.read_text())
        if report["status"] != "ok":
            continue
        subject = path.name.split("_")[0]
        table = f"preproc/{subject}/func/{subject}_task-rest_desc-motion_timeseries.tsv"
        motion = pd.read_csv(results / table, sep="\t")[list(MOTION)].to_numpy()
        series = pd.read_csv(path.with_suffix(".tsv"), sep="\t", na_values="n/a").to_numpy()
        displacement.append(report["mean_fd_power_mm"])
        for way, clean in cleanings(motion, report["repetition_time"]).items():
            edges.setdefault(way, []).append(edges_of(clean(series)))
    return {way: np.stack(rows) for way, rows in edges.items()}, np.array(displacement), {}


def main() -> None:
    """Print a table with a row per way of cleaning."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=200)
    parser.add_argument("--site", default="COI")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    rois = pd.read_csv(ROOT / config["rois"]["table"], sep="\t")
    if arguments.results:
        edges, displacement, fc_error = finished(arguments.results)
    else:
        edges, displacement, fc_error = simulated(arguments, config, rois)
    places = rois[["x", "y", "z"]].to_numpy()
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    lengths_mm = apart[np.triu_indices(len(places), 1)]
    rows = {way: qc_fc(found, displacement, lengths_mm) for way, found in edges.items()}
    n, least, most = len(displacement), displacement.min(), displacement.max()
    print(f"{n} subjects, mean displacement {least:.2f} to {most:.2f} mm")
    print(f"median |r| by chance {0.6745 / np.sqrt(n - 1):.3f}")
    print(pd.DataFrame(rows).T.assign(fc_error=pd.Series(fc_error)).round(3).to_string())


if __name__ == "__main__":
    main()
