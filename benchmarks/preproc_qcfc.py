"""QC-FC: how connectivity goes with movement over subjects, for every strategy of denoising.

    python benchmarks/preproc_qcfc.py [--subjects 100] [--site COI]
    python benchmarks/preproc_qcfc.py --results results    # of a finished study, from its files

Without ``--results`` no image is made: each subject's ROI signals are the phantom's own series,
its artefact of movement and its drift, at the regions' coordinates, and the noise of a region's
mean. Tissues are voxels near the ventricles and in the deep white matter with the same artefacts,
a physiological fluctuation of their own, and no network. Two artefacts are beyond the phantom's:
that fluctuation, shared by the whole brain and unrelated to movement, and a burst of signal in
volumes with sudden movement, with a smooth pattern that changes from one to the next, so that no
regressor of motion spans it. Artefacts of movement grow in proportion to the subject's mean
displacement, as they do in people; in the phantom's images they are equally large in everyone, so
that QC-FC is at chance there. Motion is known up to the error of realignment at full resolution.
True connectivity does not depend on movement: what QC-FC the true series show is chance.

Per strategy: the median over edges of |r| between connectivity (Fisher's z) and mean displacement,
the share of edges with p < 0.05 (chance: 5 %), and distance dependence, the rank correlation of an
edge's r with its length; how far connectivity is from the true one, as root mean square; the
median degrees of freedom left; and the share of subjects refused because too few are.
"""

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr, t

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError
from notears_pfl.phantom.movement import MotionOptions, artefact_courses, random_motion
from notears_pfl.phantom.scanner import PATTERN_MM
from notears_pfl.phantom.signals import SignalOptions, draw_series
from notears_pfl.phantom.true_networks import (
    NetworkOptions,
    draw_edges,
    over_all_regions,
    true_network,
)
from notears_pfl.preproc.clean import band_pass, detrend, plan_cleaning
from notears_pfl.preproc.noise import compcor
from notears_pfl.preproc.nuisance import ACOMPCOR, COMPONENTS, NILEARN, STRATEGIES
from notears_pfl.preproc.realign import displacement_power
from notears_pfl.preproc.volumes import standardised_dvars
from notears_pfl.seeds import stream

ROOT = Path(__file__).parents[1]
DROPPED = 10
# Error of realignment at full resolution, per axis (preproc_phantom.py): mm and radians.
MOTION_ERROR = np.array([0.02] * 3 + [np.radians(0.02)] * 3)
# A region's mean averages the noise of this many voxels; a tissue has as many.
N_VOXELS = 250
# Centres and spread of the tissues' voxels, mm.
TISSUE_MM = {"csf": ([[10, -20, 20], [-10, -20, 20]], 6), "white_matter": ([[26, 0, 28]], 10)}
# Standard deviation of the physiological fluctuation, in per cent of the baseline: in regions, and
# how much larger in the tissues.
PHYSIOLOGY_PERCENT, IN_TISSUES = 0.4, {"csf": 2.0, "white_matter": 1.0}
# Bursts: volumes with a displacement above this, mm; per cent of the baseline; smoothness, mm.
SUDDEN_MM, BURST_PERCENT, BURST_MM = 0.5, 2.0, 30.0
SCRUBBED = {"fd_mm": 0.5, "std_dvars": "none", "min_segment": 1}
BASELINE = 1000.0


def ways_of(settings):
    """List the settings of every way of cleaning by name."""
    own = [name for name in STRATEGIES if name not in NILEARN]
    ways = {}
    for order in ("dparsf", "simultaneous"):
        for scrub, words in ((settings["clean"]["scrub"], ""), (SCRUBBED, " + scrubbing")):
            for name in own:
                clean = settings["clean"] | {"order": order, "strategy": name, "scrub": scrub}
                ways[f"{name}{words}, {order}"] = settings | {"clean": clean}
    return ways


def clean_all(series, motion, confounds, tr, settings, chosen):
    """Edges and degrees of freedom by way of cleaning; None for a way that refuses the run."""
    found = {}
    for way, own in ways_of(settings).items():
        try:
            cleaning = plan_cleaning(motion, confounds, tr, own, chosen)
        except SignalError:
            found[way] = None
        else:
            found[way] = edges_of(cleaning.apply(series)), cleaning.left
    return found


def edges_of(series):
    """Fisher's z of the correlations between regions, one row of edges."""
    matrix = np.corrcoef(series.T)
    # With one degree of freedom left, every correlation is 1 or -1.
    with np.errstate(divide="ignore"):
        return np.arctanh(matrix[np.triu_indices(len(matrix), 1)])


def qc_fc(edges, displacement, lengths_mm):
    """Median |r|, share of edges with p < 0.05, and distance dependence; over subjects."""
    usable = np.isfinite(edges).all(axis=0)
    if not usable.any():
        return {}
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


def nuisance_signals(draw, motion, size, places, n_volumes):
    """Artefacts of movement and physiology at ``places`` (n, 3) of regions and of both tissues."""
    tissues = {
        name: np.array(centres)[draw(name).integers(len(centres), size=N_VOXELS)]
        + spread * draw(name, "place").standard_normal((N_VOXELS, 3))
        for name, (centres, spread) in TISSUE_MM.items()
    }
    points = np.vstack([places, *tissues.values()])
    patterns = np.vstack([np.ones(len(points)), points.T / PATTERN_MM])
    artefact = artefact_courses(draw("artefact"), motion, len(patterns)) @ patterns
    sudden = np.flatnonzero(displacement_power(motion) > SUDDEN_MM)
    smooth = np.exp(-(cdist(points, points) ** 2) / (2 * BURST_MM**2))
    bursts = np.zeros_like(artefact)
    bursts[sudden] = draw("bursts").standard_normal((len(sudden), len(points))) @ smooth
    bursts /= bursts[sudden].std() if len(sudden) else 1.0
    courses = [draw("physiology", name).standard_normal(n_volumes) for name in ("all", *tissues)]
    gains = draw("gains").uniform(0.5, 1.5, len(points))
    physiology = np.outer(courses[0], gains)
    for place, (name, course) in enumerate(zip(tissues, courses[1:], strict=True)):
        voxels = slice(len(places) + place * N_VOXELS, len(places) + (place + 1) * N_VOXELS)
        physiology[:, voxels] *= 1 + IN_TISSUES[name]
        physiology[:, voxels] += IN_TISSUES[name] * course[:, None]
    return size * artefact, size * BURST_PERCENT * bursts + PHYSIOLOGY_PERCENT * physiology


def simulated(arguments, config, rois):
    """Results of every way for every subject, their true edges, and mean displacements."""
    site = pd.read_csv(ROOT / config["sites"], sep="\t").set_index("site").loc[arguments.site]
    tr, n_volumes, phantom = site["repetition_time"], site["n_volumes"], config["phantom"]
    selected = rois.loc[rois["selected"], "abbreviation"].tolist()
    options = NetworkOptions(**phantom["network"])
    drawn = draw_edges(stream(1, "edges"), selected, [arguments.site], options)
    weights = true_network(
        stream(1, "weights"), drawn, selected, arguments.site, True, options.weight_variation
    )
    network = over_all_regions(weights, rois["abbreviation"].tolist()).to_numpy()
    places, scanner = rois[["x", "y", "z"]].to_numpy(), phantom["scanner"]
    names = [f"subject {number}" for number in range(arguments.subjects)]
    motions = [
        random_motion(stream(1, name, "motion"), n_volumes, MotionOptions(**phantom["motion"]))
        for name in names
    ]
    displacement = np.array([displacement_power(motion).mean() for motion in motions])
    growth = displacement / np.median(displacement)
    results, truths = [], []
    for name, motion, size in zip(names, motions, growth, strict=True):
        draw = partial(stream, 1, name)
        truth = 100 * draw_series(
            draw("series"), network, n_volumes, tr, SignalOptions(**phantom["signal"])
        ).at(0)
        artefact, other = nuisance_signals(draw, motion, size, places, n_volumes)
        n = artefact.shape[1]
        drift = np.outer(np.linspace(-0.5, 0.5, n_volumes), draw("drift").uniform(-1, 1, n))
        noise = scanner["noise_percent"] * draw("noise").standard_normal((n_volumes, n))
        noise[:, : len(rois)] /= np.sqrt(N_VOXELS)
        found = scanner["artefact_percent"] * artefact + other + noise
        found += scanner["drift_percent"] * drift
        found[:, : len(rois)] += truth
        voxels = (BASELINE * (1 + found / 100))[DROPPED:]
        regions, fluid, white = np.split(voxels, [len(rois), len(rois) + N_VOXELS], axis=1)
        measured = motion + MOTION_ERROR * draw("realignment").standard_normal(motion.shape)
        measured = pd.DataFrame(measured[DROPPED:], columns=list(MOTION))
        confounds = pd.DataFrame(
            {
                "fd_power_mm": displacement_power(measured.to_numpy()),
                "std_dvars": standardised_dvars(regions),
                "csf": fluid.mean(axis=1),
                "white_matter": white.mean(axis=1),
                # The brain's voxels are mostly the regions'.
                "global_signal": regions.mean(axis=1),
            }
        ).join(compcor({"csf": fluid, "white_matter": white}, tr))
        chosen = {ACOMPCOR: {"columns": sum(COMPONENTS.values(), ())}}
        results.append(clean_all(regions, measured, confounds, tr, config["preproc"], chosen))
        truths.append(edges_of(band_pass(detrend(truth[DROPPED:]), tr, 0.01, 0.08)))
    return results, np.stack(truths), displacement


def finished(results_folder, config):
    """Return the same from the files of a finished study; true edges of a phantom only."""
    results, truths, displacement = [], [], []
    for path in sorted(results_folder.glob("timeseries/sub-*_desc-raw_timeseries.json")):
        report = json.loads(path.read_text())
        if report["status"] != "ok":
            continue
        subject, tr = path.name.split("_")[0], report["repetition_time"]
        stem = results_folder / f"preproc/{subject}/func/{subject}_task-rest_desc-"
        motion, confounds, series = (
            pd.read_csv(table, sep="\t", na_values="n/a")
            for table in (
                f"{stem}motion_timeseries.tsv",
                f"{stem}confounds_timeseries.tsv",
                path.with_suffix(".tsv"),
            )
        )
        displacement.append(report["mean_fd_power_mm"])
        found = clean_all(
            series.to_numpy(), motion, confounds, tr, config["preproc"], report["confounds"]
        )
        results.append(found)
        true = results_folder / f"phantom/truth/{subject}_seg-surrogate_timeseries.tsv"
        if true.exists():
            signals = pd.read_csv(true, sep="\t").to_numpy()[-len(series) :]
            truths.append(edges_of(band_pass(detrend(signals), tr, 0.01, 0.08)))
    return results, np.stack(truths) if truths else None, np.array(displacement)


def main() -> None:
    """Print a table with a row per way of cleaning."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subjects", type=int, default=100)
    parser.add_argument("--site", default="COI")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    rois = pd.read_csv(ROOT / config["rois"]["table"], sep="\t")
    results, truths, displacement = (
        finished(arguments.results, config)
        if arguments.results
        else simulated(arguments, config, rois)
    )
    places = rois[["x", "y", "z"]].to_numpy()
    lengths_mm = cdist(places, places)[np.triu_indices(len(places), 1)]
    rows = {}
    for way in results[0]:
        kept = np.array([found[way] is not None for found in results])
        rows[way] = {"refused": 1 - kept.mean()}
        if kept.sum() > 3:
            edges = np.stack([found[way][0] for found in results if found[way]])
            rows[way] |= qc_fc(edges, displacement[kept], lengths_mm)
            rows[way]["freedom"] = np.median([found[way][1] for found in results if found[way]])
            if truths is not None:
                errors = np.tanh(edges) - np.tanh(truths[kept])
                rows[way]["fc_error"] = np.sqrt(np.nanmean(errors**2))
    if truths is not None:
        rows["true series"] = qc_fc(truths, displacement, lengths_mm)
    n, least, most = len(displacement), displacement.min(), displacement.max()
    print(f"{n} subjects, mean displacement {least:.2f} to {most:.2f} mm")
    print(f"median |r| by chance {0.6745 / np.sqrt(n - 1):.3f}")
    print(pd.DataFrame(rows).T.round(3).to_string())


if __name__ == "__main__":
    main()
