"""One real person's BOLD run and T1w image: forms, moved images, and faults.

    python benchmarks/preproc_real_scan.py T1W BOLD --mask BRAIN --atlas AAL [--other T1W ...]
        [--part forms moved faults]

``forms``: the T1w image as it is, at 1 mm, and both stripped with the mask given; the clean series
of any two must agree (median correlation over regions, correlation of connectivity). ``moved``: the
BOLD image moved by known amounts up to 20 mm and 20°, whole and cut, registered by our code and by
rigid mutual information of SimpleITK; error against the image that was not moved. ``faults``: what
``cohort.limits`` makes of damaged images, and by which figure.
"""

import argparse
import itertools
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import SimpleITK
import yaml

from notears_pfl.cohort.exclusion import CRITERIA, Limits
from notears_pfl.errors import PflError
from notears_pfl.geometry import about, rigid_matrix, transform
from notears_pfl.io.images import read_image, read_volume
from notears_pfl.preproc.anatomy import Anatomy, prepare_anatomy
from notears_pfl.preproc.cautions import T1W_FIGURES, with_cautions
from notears_pfl.preproc.clean import check_coverage, clean_options, clean_signals
from notears_pfl.preproc.coregister import CoregisterOptions, boundary_agreement, coregister
from notears_pfl.preproc.greedy import LPS, itk_image
from notears_pfl.preproc.normalise import NormaliseOptions
from notears_pfl.preproc.nuisance import friston24
from notears_pfl.preproc.resample import Grid, downsample
from notears_pfl.preproc.run import Run, preprocess_volumes, run_options
from notears_pfl.preproc.smooth import smooth_options, smoother
from notears_pfl.preproc.template import HEAD_TEMPLATE, head_template, load_template
from notears_pfl.roi.extract import roi_signals

ROOT = Path(__file__).parents[1]
TEMPLATE = load_template(2)
CONFIG = yaml.safe_load((ROOT / "config/config.yaml").read_text())
# The 3 mm grid, smoothing and cleaning are those of the default configuration.
SETTINGS = CONFIG["preproc"]


def head():
    """Read the head template."""
    stored = read_image(HEAD_TEMPLATE)
    return head_template(stored.data, stored.affine, TEMPLATE)


def anatomy_of(t1w, affine) -> Anatomy:
    """Process a T1w image."""
    return prepare_anatomy(t1w, affine, TEMPLATE, head(), NormaliseOptions())


def run_of(anatomy: Anatomy, bold, affine, tr: float) -> Run:
    """Process a run; its slices are taken as acquired from the first to the last."""
    times = np.arange(bold.shape[2]) * tr / bold.shape[2]
    return preprocess_volumes(
        bold, affine, tr, times, anatomy.tissues, anatomy.grid, anatomy.normalisation,
        (TEMPLATE.brain, TEMPLATE.affine), run_options(SETTINGS),
    )  # fmt: skip


def series_of(run: Run, atlas, tr: float):
    """Clean series of all regions (volumes, n), and the regions' coverage."""
    smooth = smoother(smooth_options(SETTINGS), run.grid.voxel_mm)
    n_rois = int(atlas.data.max())
    regions = (atlas.data, atlas.affine)
    means, coverage, _ = roi_signals(run, run.grid.points(), regions, n_rois, smooth)
    design = friston24(run.motion.parameters)
    return clean_signals(means, design, tr, clean_options(SETTINGS)), coverage


def forms(t1w, mask, bold, atlas, tr):
    """Compare the four forms of the T1w image."""
    whole, inside = t1w.data.astype(np.float32), mask.data > 0
    coarse, grid = downsample(whole, t1w.affine, 1.0)
    brain, _ = downsample(whole * inside, t1w.affine, 1.0)
    images = {
        "as it is": (whole, t1w.affine),
        "1 mm": (coarse, grid.affine),
        "as it is, stripped": (whole * inside, t1w.affine),
        "1 mm, stripped": (brain, grid.affine),
    }
    series = {}
    for name, image in images.items():
        anatomy = anatomy_of(*image)
        run = run_of(anatomy, bold.data, bold.affine, tr)
        series[name], _ = series_of(run, atlas, tr)
        quality = {k: v for k, v in anatomy.quality.items() if k in T1W_FIGURES}
        print(name, quality, f"BOLD–T1w agreement {run.coregistration.agreement:.3f}", flush=True)
    names = pd.read_csv(ROOT / "config/rois.tsv", sep="\t")["abbreviation"]
    for a, b in itertools.combinations(series, 2):
        kept = np.isfinite(series[a] + series[b]).all(axis=0)
        x, y = series[a][:, kept], series[b][:, kept]
        r = [np.corrcoef(u, v)[0, 1] for u, v in zip(x.T, y.T, strict=True)]
        upper = np.triu_indices(kept.sum(), 1)
        fc = np.corrcoef(np.corrcoef(x.T)[upper], np.corrcoef(y.T)[upper])[0, 1]
        print(
            f"{a} ~ {b}: median r {np.median(r):.3f} (lowest {min(r):.3f}), connectivity {fc:.3f}"
        )
    # Regions that follow the strongest common signal of the occipital lobe.
    for name, x in series.items():
        occipital = [i for i, n in enumerate(names) if n[:3] in ("CUN", "SOG", "MOG", "CAL", "LIN")]
        first = np.linalg.svd(np.nan_to_num(x[:, occipital]), full_matrices=False)[0][:, 0]
        r = np.abs([np.corrcoef(first, column)[0, 1] for column in np.nan_to_num(x).T])
        print(name, "leading regions:", ", ".join(names[i] for i in np.argsort(-r)[:8]))


def rigid_mi(mean, affine, tissues, grid):
    """Register by rigid mutual information of SimpleITK, from the images' moments."""
    contrast = np.tensordot(np.float32([0.3, 0.65, 1.0]), tissues, axes=1)
    fixed, moving = itk_image(contrast, grid), itk_image(mean, Grid(mean.shape, affine))
    method = SimpleITK.ImageRegistrationMethod()
    method.SetMetricAsMattesMutualInformation(32)
    method.SetMetricSamplingStrategy(method.RANDOM)
    method.SetMetricSamplingPercentage(0.2, seed=1)
    method.SetInterpolator(SimpleITK.sitkLinear)
    method.SetOptimizerAsRegularStepGradientDescent(1.0, 0.001, 200)
    method.SetOptimizerScalesFromPhysicalShift()
    method.SetShrinkFactorsPerLevel([4, 2, 1])
    method.SetSmoothingSigmasPerLevel([4, 2, 0])
    moments = SimpleITK.CenteredTransformInitializerFilter.MOMENTS
    start = SimpleITK.CenteredTransformInitializer(
        fixed, moving, SimpleITK.Euler3DTransform(), moments
    )
    method.SetInitialTransform(start, inPlace=False)
    found = method.Execute(fixed, moving)
    origin, *ends = (np.array(found.TransformPoint(p)) for p in np.vstack([np.zeros(3), np.eye(3)]))
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.stack(ends, axis=1) - origin[:, None], origin
    return LPS @ matrix @ LPS


def moved(anatomy: Anatomy, mean, affine, n_moves: int = 5):
    """Move the mean BOLD image, whole and cut, and register it again."""
    rng = np.random.default_rng(1)
    inside = anatomy.tissues.sum(axis=0).ravel() > 0.5
    points = anatomy.grid.points()[:, inside][:, ::50]
    reference = coregister(mean, affine, anatomy.tissues, anatomy.grid, CoregisterOptions()).matrix
    n = mean.shape[2]
    cuts = {"whole": (0, n), "lower half": (0, n // 2), "upper half": (n // 2, n)}
    ways = {
        "own": lambda *a: coregister(*a, CoregisterOptions()).matrix,
        "SimpleITK MI": rigid_mi,
    }
    for cut, (low, high) in cuts.items():
        image, shifted = mean[:, :, low:high], affine.copy()
        shifted[:3, 3] += low * affine[:3, 2]
        centre = transform(shifted, (np.array(image.shape, dtype=float)[:, None] - 1) / 2)
        moves = rng.uniform(-1, 1, (n_moves, 6)) * [20, 20, 20, *np.radians([20, 20, 20])]
        for name, way in ways.items():
            errors, shares, start = [], [], time.process_time()
            for move in moves:
                matrix = about(centre, rigid_matrix(move))
                pair = (image, matrix @ shifted, anatomy.tissues, anatomy.grid)
                found = way(*pair)
                away = transform(found, points) - transform(matrix @ reference, points)
                errors.append(np.linalg.norm(away, axis=0).mean())
                shares.append(boundary_agreement(*pair, found))
            cpu = (time.process_time() - start) / n_moves
            print(f"{cut:11s} {name:13s} error mm {np.round(errors, 2)}", end=" ")
            print(f"agreement {np.round(shares, 2)} CPU s {cpu:.1f}", flush=True)


def judged(anatomy_input, bold_input, atlas, tr):
    """Tell what excludes or flags a subject: failures, limits, cautions."""
    limits = Limits(**CONFIG["cohort"]["limits"])
    try:
        anatomy = anatomy_of(*anatomy_input)
        run = run_of(anatomy, *bold_input, tr)
        _, coverage = series_of(run, atlas, tr)
        figures = {k: anatomy.quality.get(k) for k in T1W_FIGURES} | run.figures()
        selected = pd.read_csv(ROOT / "config/rois.tsv", sep="\t")["selected"].to_numpy()
        reasons = [
            reason
            for criterion in CRITERIA
            if (value := figures.get(criterion.column)) is not None
            and (reason := criterion.reason(value, limits))
        ]
        try:
            names = [f"region {i + 1}" for i in np.flatnonzero(selected)]
            check_coverage(coverage[selected], names, CONFIG["rois"]["min_coverage"])
        except PflError as error:
            reasons.append(f"failed: {str(error)[:70]} …")
        cautions = with_cautions(figures)["cautions"]
    except PflError as error:
        return f"CAUGHT, failed: {str(error)[:110]} …"
    shown = {c.column: figures.get(c.column) for c in CRITERIA}
    shown = {k: round(float(v), 3) for k, v in shown.items() if v is not None}
    word = "CAUGHT" if reasons else "flagged" if cautions else "NOT CAUGHT"
    return f"{word}: {'; '.join(reasons)} | {len(cautions)} cautions | {shown}"


def faults(t1w, bold, others, atlas, tr):
    """Damage the images in several ways."""
    rng = np.random.default_rng(2)
    whole, shape = t1w.data.astype(np.float32), bold.data.shape
    good_t1w, good_bold = (whole, t1w.affine), (bold.data, bold.affine)
    centre = transform(t1w.affine, (np.array(whole.shape, dtype=float)[:, None] - 1) / 2)
    turn = about(centre, rigid_matrix(np.radians([0, 0, 0, 30, 0, 0])))
    brain = whole > np.percentile(whole, 60)
    upper = bold.affine.copy()
    upper[:3, 3] += shape[2] // 2 * bold.affine[:3, 2]
    noise = 3 * 0.05 * np.percentile(whole, 98) * rng.standard_normal(whole.shape)
    cases = {
        "nothing wrong": (good_t1w, good_bold),
        "BOLD: upper half of the slices only": (
            good_t1w, (bold.data[:, :, shape[2] // 2 :], upper)
        ),
        "BOLD: lower half of the slices only": (
            good_t1w, (bold.data[:, :, : shape[2] // 2], bold.affine)
        ),
        **{f"T1w of another person ({p.name})": (
            (read_volume(p).data.astype(np.float32), read_volume(p).affine), good_bold
        ) for p in others},
        "T1w mirrored left to right": ((whole[::-1], t1w.affine), good_bold),
        "T1w: header turned by 30°": ((whole, turn @ t1w.affine), good_bold),
        "T1w: noise of 15 % (three times the usual)": ((whole + noise, t1w.affine), good_bold),
        "T1w: half of the slices cut": (
            (whole[..., whole.shape[2] // 2 :], t1w.affine), good_bold
        ),
        "T1w: a mask": ((brain.astype(np.float32), t1w.affine), good_bold),
    }  # fmt: skip
    for name, pair in cases.items():
        print(f"{name}: {judged(*pair, atlas, tr)}", flush=True)


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("t1w", type=Path)
    parser.add_argument("bold", type=Path)
    parser.add_argument("--mask", type=Path, required=True, help="brain mask of the T1w image")
    parser.add_argument("--atlas", type=Path, required=True, help="AAL with labels 1 to 116")
    parser.add_argument("--other", type=Path, nargs="*", default=[], help="T1w of other persons")
    parser.add_argument("--part", nargs="+", default=["forms", "moved", "faults"])
    arguments = parser.parse_args()
    t1w, bold = read_volume(arguments.t1w), read_image(arguments.bold)
    atlas, tr = read_volume(arguments.atlas), float(bold.repetition_time or 2.0)
    print("limits", asdict(Limits(**CONFIG["cohort"]["limits"])))
    if "forms" in arguments.part:
        forms(t1w, read_volume(arguments.mask), bold, atlas, tr)
    if "moved" in arguments.part:
        anatomy = anatomy_of(t1w.data, t1w.affine)
        moved(anatomy, bold.data.mean(axis=3, dtype=np.float32), bold.affine)
    if "faults" in arguments.part:
        faults(t1w, bold, arguments.other, atlas, tr)


if __name__ == "__main__":
    main()
