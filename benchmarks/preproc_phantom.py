"""Score preprocessing against the phantom's truth, at the sites' own resolution or reduced.

    python benchmarks/preproc_phantom.py [--sites COI HKH] [--reduction 1] [--subjects 1]

Prints, per subject: motion and registration errors, how far ROI voxels end from their true
place, the correlation of ROI series with the true ones after each step, and how far
connectivity is from the true one without and with regression of motion. With 20 subjects or
more, also QC-FC: how connectivity goes with motion over subjects.
"""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.io.template import load_template
from notears_pfl.phantom.brain import Head, template_head, to_template
from notears_pfl.phantom.networks import NetworkOptions, draw_edges, over_all_regions, true_network
from notears_pfl.phantom.scanner import site_protocol
from notears_pfl.phantom.subject import Scan, SubjectOptions, scan_subject
from notears_pfl.preproc.anatomical import Anatomy, BrainTemplate, prepare_anatomy
from notears_pfl.preproc.clean import CleanOptions, clean_signals
from notears_pfl.preproc.confounds import friston24
from notears_pfl.preproc.functional import (
    FunctionalOptions,
    FunctionalSteps,
    Run,
    SmoothOptions,
    prepare_run,
)
from notears_pfl.preproc.normalise import Normalisation, NormaliseOptions, affine_only
from notears_pfl.preproc.quality import displacement_power
from notears_pfl.preproc.realign import Motion, RealignOptions, estimate_motion
from notears_pfl.preproc.rigid import rigid_parameters
from notears_pfl.preproc.temporal import band_pass, detrend
from notears_pfl.roi.atlas import labels_at
from notears_pfl.roi.extract import roi_coverage, roi_means
from notears_pfl.seeds import stream

ROOT = Path(__file__).parents[1]
LOW_HZ, HIGH_HZ = 0.01, 0.08


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
        "mni_error_affine_mm": error(affine_only(anatomy.normalisation)),
        "mni_error_mm": error(anatomy.normalisation),
    }


def score_run(run: Run, scan: Scan, dropped: int) -> dict[str, float]:
    """Motion, and the registration of BOLD to T1w over the brain."""
    first = rigid_matrix(scan.motion[dropped])
    truth = rigid_parameters(np.linalg.inv(first) @ rigid_matrix(scan.motion[dropped:]))
    raw = estimate_motion(scan.bold[..., dropped:], scan.bold_affine, RealignOptions())
    rmse = {
        f"motion_{name}_rmse": np.sqrt(np.mean((found - truth).reshape(-1, 2, 3) ** 2, axis=(0, 2)))
        for name, found in (("slice_timed", run.motion.parameters), ("raw", raw.parameters))
    }
    points = transform(scan.t1w_affine, np.argwhere(scan.brain)[::200].T.astype(float))
    to_bold = np.linalg.inv(scan.head_from_bold @ first) @ scan.head_from_t1w
    return {
        **{f"{name}_mm": float(pair[0]) for name, pair in rmse.items()},
        **{f"{name}_deg": float(np.degrees(pair[1])) for name, pair in rmse.items()},
        "bold_t1w_mm": distance_mm(
            transform(run.coregistration.matrix, points), transform(to_bold, points)
        ),
    }


def without_motion(bold, affine, tr, options):
    """Stand for a realignment that finds no motion."""
    return Motion(np.zeros((bold.shape[3], 6)), np.ones(bold.shape[3], dtype=bool))


class Series:
    """ROI series of one scan after more and more steps, and the truth."""

    def __init__(self, prepare, head: Head, scan: Scan, dropped: int, tr: float):
        still = FunctionalSteps(estimate_motion=without_motion)
        options = FunctionalOptions(drop_volumes=dropped)
        untimed = replace(options, slice_timing=False)
        self.head, self.tr, self.truth = head, tr, scan.series[dropped:]
        self.run = prepare(options, FunctionalSteps())
        self.runs = [prepare(untimed, still), prepare(untimed, FunctionalSteps()), self.run]

    def means(self, run: Run, fwhm_mm: float) -> np.ndarray:
        """Give the means of regions at least half in view."""
        labels = labels_at(self.head.labels, self.head.affine, run.grid.points())
        labels, codes = labels.reshape(run.grid.shape), list(range(1, self.truth.shape[1] + 1))
        smoother = SmoothOptions(fwhm_mm).smoother(run.grid)
        found = roi_means(run.series, run.near, labels, codes, run.covered, smoother)
        found[:, roi_coverage(labels, codes, run.covered) < 0.5] = np.nan
        return found

    def in_band(self, series: np.ndarray) -> np.ndarray:
        """Detrend and filter, without regressing motion."""
        return band_pass(detrend(series), self.tr, LOW_HZ, HIGH_HZ)

    def clean(self, series: np.ndarray) -> np.ndarray:
        """Clean as the paper does."""
        confounds = friston24(self.run.motion.parameters)
        return clean_signals(series, confounds, self.tr, CleanOptions())

    def scores(self) -> dict[str, float]:
        """Mean correlation with the true series in the band, as steps are added."""
        truth, smoothed = self.in_band(self.truth), self.means(self.run, 6.0)
        names = ("r_normalised", "r_realigned", "r_slice_timed")
        rough = [self.in_band(self.means(run, 0.0)) for run in self.runs]
        pairs = {
            **{name: (series, truth) for name, series in zip(names, rough, strict=True)},
            "r_smoothed": (self.in_band(smoothed), truth),
            "r_friston24": (self.clean(smoothed), truth),
            "r_truth_cleaned_too": (self.clean(smoothed), self.clean(self.truth)),
        }
        true = np.corrcoef(truth.T)
        errors = {
            f"fc_error_{when}_friston24": float(np.sqrt(np.nanmean((matrix - true) ** 2)))
            for when, matrix in self.connectivity().items()
        }
        found = {name: float(np.nanmean(correlations(*pair))) for name, pair in pairs.items()}
        return {**found, **errors}

    def connectivity(self) -> dict[str, np.ndarray]:
        """Correlation matrices without and with regression of motion."""
        smoothed = self.means(self.run, 6.0)
        return {
            "before": np.corrcoef(self.in_band(smoothed).T),
            "after": np.corrcoef(self.clean(smoothed).T),
        }


def qc_fc(matrices: list[np.ndarray], displacement: list[float]) -> float:
    """Median over edges of |r| between connectivity and mean displacement, over subjects."""
    edges = np.stack([matrix[np.triu_indices(len(matrix), 1)] for matrix in matrices])
    edges = edges[:, np.isfinite(edges).all(axis=0)]
    columns = np.broadcast_to(np.array(displacement)[:, None], edges.shape)
    return float(np.median(np.abs(correlations(edges, columns))))


def main() -> None:
    """Scan, preprocess and score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", nargs="+", default=["COI", "HKH", "HUH"])
    parser.add_argument("--reduction", type=float, default=2.0)
    parser.add_argument("--subjects", type=int, default=1, help="per site")
    arguments = parser.parse_args()
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    sites = pd.read_csv(ROOT / config["sites"], sep="\t").set_index("site", drop=False)
    rois = pd.read_csv(ROOT / config["rois"]["table"], sep="\t")
    template = load_template(2)
    coordinates = rois[["x", "y", "z"]].to_numpy()
    head = template_head(
        **vars(template), coordinates=coordinates, **config["phantom"]["parcellation"]
    )
    selected = rois.loc[rois["selected"], "abbreviation"].tolist()
    network_options = NetworkOptions(**config["phantom"]["network"])
    edges = draw_edges(stream(1, "edges"), selected, arguments.sites, network_options)
    rows, matrices, displacement = [], [], []
    for site in arguments.sites:
        weights = true_network(
            stream(1, "weights", site),
            edges,
            selected,
            site,
            True,
            network_options.weight_variation,
        )
        network = over_all_regions(weights, rois["abbreviation"].tolist()).to_numpy()
        protocol = site_protocol(sites.loc[site].to_dict(), arguments.reduction)
        for number in range(arguments.subjects):
            scan = scan_subject(
                partial(stream, 1, site, str(number)), head, network, protocol, 1000.0,
                SubjectOptions.from_settings(config["phantom"]),
            )  # fmt: skip
            brain_template = BrainTemplate(**vars(template))
            anatomy = prepare_anatomy(scan.t1w, scan.t1w_affine, brain_template, NormaliseOptions())

            def prepare(options, steps, scan=scan, anatomy=anatomy, protocol=protocol):
                return prepare_run(
                    scan.bold, scan.bold_affine, protocol.repetition_time, protocol.slice_times,
                    anatomy.tissues, anatomy.grid, anatomy.normalisation,
                    (template.brain, template.affine), options, steps,
                )  # fmt: skip

            dropped = config["preproc"]["drop_volumes"]
            series = Series(prepare, head, scan, dropped, protocol.repetition_time)
            scores = {
                "subject": f"{site}-{number}",
                **score_anatomy(anatomy, scan, head),
                **score_run(series.run, scan, dropped),
                **series.scores(),
            }
            rows.append(scores)
            matrices.append(series.connectivity())
            displacement.append(displacement_power(series.run.motion.parameters).mean())
            print(
                "  ".join(f"{k} {v:.3f}" if k != "subject" else v for k, v in scores.items()),
                flush=True,
            )
    print("\nmean over subjects")
    print(pd.DataFrame(rows).drop(columns="subject").mean().round(4).to_string())
    # With fewer subjects the correlation over them is chance.
    if len(rows) >= 20:
        for when in ("before", "after"):
            value = qc_fc([matrix[when] for matrix in matrices], displacement)
            print(f"QC-FC {when} Friston-24: median |r| {value:.3f} over {len(rows)} subjects")


if __name__ == "__main__":
    main()
