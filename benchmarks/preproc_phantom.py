"""Score preprocessing against the phantom's truth, at the sites' own resolution or reduced.

    python benchmarks/preproc_phantom.py [--sites COI HKH] [--reduction 1] [--artefact-percent 0]

Prints per site, for the default settings, for the paper's order to the letter and for ``modern``:
the error of motion (all volumes, and those at rest), of BOLD to T1w and of T1w to MNI, the overlap
of the brain masks, and the correlation of ROI series with the true ones as steps are added in the
paper's order. Every correlation treats both series alike: ``in band`` detrends and filters the
found and the true one; ``cleaned`` regresses the Friston 24 out of both as well, so that it shows
what a step adds to the series that networks are learned from; ``cleaned_alike`` also smooths the
true signals of the regions as the found ones were. ``fc_error`` is how far connectivity after
cleaning is from the true one.
"""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from notears_pfl.geometry import rigid_matrix, rigid_parameters, transform
from notears_pfl.io.images import read_image
from notears_pfl.phantom.cohort import Protocol, site_protocol
from notears_pfl.phantom.head import Head, template_head, to_template
from notears_pfl.phantom.scan import Scan, SubjectOptions, scan_subject
from notears_pfl.phantom.true_networks import (
    NetworkOptions,
    draw_edges,
    over_all_regions,
    true_network,
)
from notears_pfl.preproc.anatomy import Anatomy, prepare_anatomy
from notears_pfl.preproc.clean import (
    CleanOptions,
    band_pass,
    clean_options,
    clean_signals,
    detrend,
)
from notears_pfl.preproc.normalise import NormaliseOptions
from notears_pfl.preproc.nuisance import friston24
from notears_pfl.preproc.realign import (
    Motion,
    RealignOptions,
    displacement_power,
    estimate_motion,
)
from notears_pfl.preproc.resample import Normalisation
from notears_pfl.preproc.run import Run, RunOptions, preprocess_volumes, run_options
from notears_pfl.preproc.slice_timing import correct_slice_timing, middle_slice_time
from notears_pfl.preproc.smooth import SmoothOptions, smooth_options, smoother
from notears_pfl.preproc.template import HEAD_TEMPLATE, head_template, load_template
from notears_pfl.roi.atlas import labels_at
from notears_pfl.roi.extract import roi_coverage, roi_means
from notears_pfl.seeds import stream

ROOT = Path(__file__).parents[1]
# A volume is at rest if it and its neighbours are displaced by less than this, mm.
AT_REST_MM = 0.2


def read_head_template(template):
    """Read the head template that brain extraction uses."""
    head = read_image(HEAD_TEMPLATE)
    return head_template(head.data, head.affine, template)


def correlations(a, b):
    """Correlation of each column of ``a`` with the same column of ``b``."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return (a * b).sum(axis=0) / np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))


def distance_mm(found, true):
    """Mean distance of two sets of points (3, n)."""
    return float(np.linalg.norm(found - true, axis=0).mean())


def dice(a, b):
    """Overlap of two masks."""
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


def score_anatomy(anatomy: Anatomy, scan: Scan, head: Head) -> dict[str, float]:
    """Brain mask, and where ROI voxels of the template end in the subject's true template."""
    voxels = np.argwhere(head.labels > 0)[::5].T.astype(float)
    points = transform(head.affine, voxels)

    def error(normalisation: Normalisation) -> float:
        in_head = transform(scan.head_from_t1w, normalisation.to_t1w(points))
        return distance_mm(to_template(scan.field, in_head), points)

    return {
        "brain_dice": dice(anatomy.brain, scan.brain),
        "mni_error_affine_mm": error(anatomy.normalisation.affine_only()),
        "mni_error_mm": error(anatomy.normalisation),
    }


def score_motion(motion: Motion, scan: Scan, dropped: int) -> dict[str, float]:
    """Root mean square error of motion, over all volumes and over those at rest."""
    first = rigid_matrix(scan.motion[dropped])
    truth = rigid_parameters(np.linalg.inv(first) @ rigid_matrix(scan.motion[dropped:]))
    moved = displacement_power(truth) > AT_REST_MM
    near = moved | np.roll(moved, -1) | np.roll(moved, 1)
    squares = ((motion.parameters - truth) * ([1.0] * 3 + [180 / np.pi] * 3)) ** 2
    return {
        "motion_mm": float(np.sqrt(squares[:, :3].mean())),
        "motion_deg": float(np.sqrt(squares[:, 3:].mean())),
        "rest_mm": float(np.sqrt(squares[~near, :3].mean())),
        "rest_deg": float(np.sqrt(squares[~near, 3:].mean())),
        "share_at_rest": float(np.mean(~near)),
    }


def score_coregistration(run: Run, scan: Scan, dropped: int) -> float:
    """Mean distance, over the brain, of the T1w image from where the mean BOLD has it."""
    points = transform(scan.t1w_affine, np.argwhere(scan.brain)[::200].T.astype(float))
    first = rigid_matrix(scan.motion[dropped])
    to_bold = np.linalg.inv(scan.head_from_bold @ first) @ scan.head_from_t1w
    return distance_mm(transform(run.coregistration.matrix, points), transform(to_bold, points))


class Subject:
    """A scanned subject, its anatomy, and the motion found on either kind of volumes."""

    def __init__(self, scan: Scan, protocol: Protocol, head: Head, template, dropped: int):
        self.scan, self.protocol, self.head, self.template = scan, protocol, head, template
        self.dropped, self.truth = dropped, scan.series[dropped:]
        self.anatomy = prepare_anatomy(
            scan.t1w, scan.t1w_affine, template, read_head_template(template), NormaliseOptions()
        )
        raw, times = scan.bold[..., dropped:], protocol.slice_times
        timed = correct_slice_timing(raw, times, protocol.repetition_time, middle_slice_time(times))
        self.motion = {
            name: estimate_motion(volumes, scan.bold_affine, RealignOptions())
            for name, volumes in (("raw", raw), ("slice_timed", timed))
        }
        n_volumes = raw.shape[3]
        self.motion["none"] = Motion(np.zeros((n_volumes, 6)), np.ones(n_volumes, dtype=bool))

    def run(self, options: RunOptions, motion: str) -> Run:
        """Process the run with the motion found on ``motion``: none, raw or slice_timed."""
        found, scan = self.motion[motion], self.scan
        return preprocess_volumes(
            scan.bold, scan.bold_affine, self.protocol.repetition_time, self.protocol.slice_times,
            self.anatomy.tissues, self.anatomy.grid, self.anatomy.normalisation,
            (self.template.brain, self.template.affine), options,
            {"realign": lambda *_: found.parameters},
        )  # fmt: skip

    def means(self, run: Run, smoothing: SmoothOptions) -> tuple[np.ndarray, np.ndarray]:
        """Give the means of regions at least half in view, of the run and of the true signals.

        Of the true ones a voxel holds its region's, or nothing outside all regions.
        """
        labels = labels_at(self.head.labels, self.head.affine, run.grid.points())
        labels, codes = labels.reshape(run.grid.shape), list(range(1, self.truth.shape[1] + 1))
        smooth = smoother(smoothing, run.grid.voxel_mm)
        signals = np.hstack([np.zeros((len(self.truth), 1)), self.truth])[:, labels[run.near]]
        found, true = (
            roi_means(series, run.near, labels, codes, run.covered, smooth)
            for series in (run.series, signals)
        )
        found[:, roi_coverage(labels, codes, run.covered) < 0.5] = np.nan
        return found, true


def score_series(
    steps: dict[str, tuple[np.ndarray, np.ndarray]],
    subject: Subject,
    confounds: np.ndarray,
    cleaning: CleanOptions,
) -> pd.DataFrame:
    """Correlation with the truth, and error of connectivity, after each step."""
    tr, band = subject.protocol.repetition_time, (cleaning.low_hz, cleaning.high_hz)

    def in_band(series):
        return band_pass(detrend(series), tr, *band)

    def clean(series):
        return clean_signals(series, confounds, tr, cleaning)

    true = np.corrcoef(in_band(subject.truth).T)
    rows = {
        name: {
            "in_band": np.nanmean(correlations(in_band(series), in_band(subject.truth))),
            "cleaned": np.nanmean(correlations(clean(series), clean(subject.truth))),
            "cleaned_alike": np.nanmean(correlations(clean(series), clean(alike))),
            "cleaned_truth_not": np.nanmean(correlations(clean(series), in_band(subject.truth))),
            "fc_error": np.sqrt(np.nanmean((np.corrcoef(clean(series).T) - true) ** 2)),
            "fc_error_without_friston24": np.sqrt(
                np.nanmean((np.corrcoef(in_band(series).T) - true) ** 2)
            ),
        }
        for name, (series, alike) in steps.items()
    }
    return pd.DataFrame(rows).T


def score_settings(subject: Subject, settings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Motion and registration, and the series after each step, under three settings."""
    registration, series = {}, {}
    unsmoothed = SmoothOptions(0.0)
    base = run_options(settings)
    plain = subject.means(subject.run(replace(base, slice_timing=False), "none"), unsmoothed)
    timed = subject.means(subject.run(base, "none"), unsmoothed)
    changes = {
        "default": {},
        "paper": {"style": "dparsf", "motion_from": "style"},
        "modern": {"style": "modern", "motion_from": "style"},
    }
    for name, change in changes.items():
        chosen = {**settings, **change}
        options, smoothing = run_options(chosen), smooth_options(chosen)
        run, motion = subject.run(options, options.motion_from), subject.motion[options.motion_from]
        registration[name] = {
            **score_motion(motion, subject.scan, subject.dropped),
            "bold_t1w_agreement": run.coregistration.agreement,
            "bold_t1w_mm": score_coregistration(run, subject.scan, subject.dropped),
        }
        steps = {
            "normalised": plain,
            "slice_timed": timed,
            "realigned": subject.means(run, unsmoothed),
            f"smoothed_{smoothing.fwhm_mm:g}mm": subject.means(run, smoothing),
        }
        confounds = friston24(motion.parameters)
        series[name] = score_series(steps, subject, confounds, clean_options(chosen))
    return pd.DataFrame(registration), pd.concat(series)


def main() -> None:
    """Scan, preprocess and score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", nargs="+", default=["COI", "HKH", "HUH", "KUT", "UTO"])
    parser.add_argument("--reduction", type=float, default=2.0)
    parser.add_argument("--subjects", type=int, default=1, help="per site")
    parser.add_argument("--artefact-percent", type=float, help="size of the planted artefact")
    arguments = parser.parse_args()
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    if arguments.artefact_percent is not None:
        config["phantom"]["scanner"]["artefact_percent"] = arguments.artefact_percent
    sites = pd.read_csv(ROOT / config["sites"], sep="\t").set_index("site", drop=False)
    rois = pd.read_csv(ROOT / config["rois"]["table"], sep="\t")
    template = load_template(2)
    coordinates = rois[["x", "y", "z"]].to_numpy()
    head = template_head(
        **vars(template), coordinates=coordinates, **config["phantom"]["parcellation"]
    )
    selected = rois.loc[rois["selected"], "abbreviation"].tolist()
    network_options = NetworkOptions(**config["phantom"]["network"])
    edges = draw_edges(stream(1, "edges"), selected, sites.index.tolist(), network_options)
    tables = []
    for site in arguments.sites:
        weights = true_network(
            stream(1, "weights", site), edges, selected, site, True,
            network_options.weight_variation,
        )  # fmt: skip
        network = over_all_regions(weights, rois["abbreviation"].tolist()).to_numpy()
        protocol = site_protocol(sites.loc[site].to_dict(), arguments.reduction)
        for number in range(arguments.subjects):
            scan = scan_subject(
                partial(stream, 1, site, str(number)), head, network, protocol, 1000.0,
                SubjectOptions.from_settings(config["phantom"]),
            )  # fmt: skip
            dropped = config["preproc"]["drop_volumes"]
            subject = Subject(scan, protocol, head, template, dropped)
            registration, series = score_settings(subject, config["preproc"])
            print(f"\n{site}-{number}", score_anatomy(subject.anatomy, scan, head))
            print(registration.round(4).to_string())
            print(series.round(3).to_string(), flush=True)
            tables.append(series)
    print(f"\nmean over {len(tables)} subjects")
    print((sum(tables) / len(tables)).round(3).to_string())


if __name__ == "__main__":
    main()
