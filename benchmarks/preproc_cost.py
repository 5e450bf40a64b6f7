"""Cost of preprocessing at SRPBS size: CPU seconds and peak memory of every step.

    OMP_NUM_THREADS=1 python benchmarks/preproc_cost.py

Images are random but shaped like heads (BOLD 64×64×40×240, T1w 256×256×176 at 1 mm). The tail
(smoothing, ROI means, cleaning) runs beside nilearn's voxelwise ``clean_img`` and masker on the
same image.
"""

import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import nibabel as nib
import numpy as np
from nilearn.image import clean_img
from nilearn.maskers import NiftiLabelsMasker

from notears_pfl.geometry import centred_affine
from notears_pfl.io.images import read_image
from notears_pfl.preproc.anatomy import prepare_anatomy
from notears_pfl.preproc.brain import find_brain
from notears_pfl.preproc.clean import CleanOptions, clean_signals
from notears_pfl.preproc.coregister import CoregisterOptions, coregister
from notears_pfl.preproc.normalise import NormaliseOptions, normalise
from notears_pfl.preproc.nuisance import friston24
from notears_pfl.preproc.realign import RealignOptions, estimate_motion
from notears_pfl.preproc.resample import Grid, sample_volume
from notears_pfl.preproc.run import RunOptions, preprocess_volumes
from notears_pfl.preproc.slice_timing import correct_slice_timing, middle_slice_time
from notears_pfl.preproc.smooth import SmoothOptions, smoother
from notears_pfl.preproc.template import HEAD_TEMPLATE, head_template, load_template
from notears_pfl.preproc.tissues import fit_tissues
from notears_pfl.roi.extract import roi_means

TR, N_VOLUMES, DROPPED = 2.5, 240, 10
N_SUBJECTS, N_CORES = 713, 16
CENTRE_MM = np.array([0.0, -18.0, 10.0])


def cost(name: str, function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Run ``function``, print its CPU seconds and the process's peak memory so far."""
    start = time.process_time()
    result = function(*arguments)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name:34s} {seconds:8.2f} CPU s   peak so far {peak:5.2f} GiB", flush=True)
    return result, seconds


def images(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Any]:
    """T1w head and BOLD images of the template with noise, their affines, the templates."""
    template = load_template(1)
    t1w_affine = centred_affine((176, 256, 256), np.ones(3), CENTRE_MM)
    points = 1.04 * Grid((176, 256, 256), t1w_affine).points() + 3
    stored, small = read_image(HEAD_TEMPLATE), load_template(2)
    # The template's brain in the mean head, whose grey values run from 0 to 255.
    t1w = 1000 * sample_volume(template.t1w, template.affine, points, 1)
    head = 4 * sample_volume(stored.data.astype(np.float32), stored.affine, points, 1)
    t1w = np.where(t1w > 0, t1w, head).reshape(176, 256, 256)
    t1w = (t1w + 5 * rng.standard_normal(t1w.shape)).astype(np.float32)
    bold_affine = centred_affine((64, 64, 40), np.array([3.3, 3.3, 4.0]), CENTRE_MM)
    bold_points = Grid((64, 64, 40), bold_affine).points()
    baseline = sample_volume(template.grey + 0.8 * template.white, template.affine, bold_points, 1)
    baseline = 1000 * baseline.reshape(64, 64, 40, 1)
    noise = rng.standard_normal((64, 64, 40, N_VOLUMES), dtype=np.float32)
    return (
        t1w,
        t1w_affine,
        (baseline + 10 * noise).astype(np.float32),
        bold_affine,
        (small, head_template(stored.data, stored.affine, small)),
    )


def tail(run: Any, labels: np.ndarray, codes: list[int]) -> np.ndarray:
    """Smooth, average over ROIs and clean, the way the workflow does."""
    smooth = smoother(SmoothOptions(), run.grid.voxel_mm)
    means = roi_means(run.series, run.near, labels, codes, run.covered, smooth)
    return clean_signals(means, friston24(run.motion.parameters), TR, CleanOptions())


def nilearn_tail(image: nib.Nifti1Image, labels: nib.Nifti1Image, confounds: np.ndarray) -> Any:
    """Clean every voxel, then smooth and average over ROIs, with nilearn."""
    cleaned = clean_img(
        image, confounds=confounds, low_pass=0.08, high_pass=0.01, t_r=TR, standardize=None
    )
    masker = NiftiLabelsMasker(labels, smoothing_fwhm=6.0, standardize=None)
    return masker.fit_transform(cleaned)


def main() -> None:
    """Print the cost of every step, of T1w and BOLD together, and of the paper's study."""
    # In a process of its own, so that making the images is not counted.
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        made = other.submit(images, np.random.default_rng(0)).result()
    t1w, t1w_affine, bold, bold_affine, (template, head) = made
    found, _ = cost("brain", find_brain, t1w, t1w_affine, head)
    brain = found.mask
    cost("tissues and bias", fit_tissues, t1w, brain, np.ones(3))
    cost(
        "normalisation", normalise, t1w * brain, t1w_affine, template.t1w, template.affine,
        NormaliseOptions(), found.start,
    )  # fmt: skip
    anatomy, anatomical = cost(
        "ALL STEPS ON T1W", prepare_anatomy, t1w, t1w_affine, template, head, NormaliseOptions()
    )

    times = np.arange(40) * TR / 40
    kept = bold[..., DROPPED:]
    cost("slice timing", correct_slice_timing, kept, times, TR, middle_slice_time(times))
    cost("realignment", estimate_motion, kept, bold_affine, RealignOptions())
    mean = kept.mean(axis=3)
    cost(
        "coregistration", coregister, mean, bold_affine, anatomy.tissues, anatomy.grid,
        CoregisterOptions(),
    )  # fmt: skip
    run, functional = cost(
        "ALL STEPS ON BOLD, to MNI", preprocess_volumes, bold, bold_affine, TR, times,
        anatomy.tissues, anatomy.grid, anatomy.normalisation, (template.brain, template.affine),
        RunOptions(drop_volumes=DROPPED),
    )  # fmt: skip

    codes = list(range(1, 117))
    slabs = np.digitize(np.arange(run.brain.sum()), np.linspace(0, run.brain.sum(), 117)[1:-1])
    labels = np.zeros(run.grid.shape, dtype=np.int32)
    labels[run.brain] = 1 + slabs
    _, ours = cost("TAIL: smooth, ROI means, clean", tail, run, labels, codes)
    volumes = np.stack([run.volume(t) for t in range(len(run.series))], axis=-1)
    _, theirs = cost(
        "nilearn: clean_img and masker", nilearn_tail,
        nib.Nifti1Image(volumes, run.grid.affine), nib.Nifti1Image(labels, run.grid.affine),
        friston24(run.motion.parameters),
    )  # fmt: skip
    print(f"\ntail: nilearn takes {theirs / ours:.0f} times ours")
    subject = anatomical + functional + ours
    hours = subject * N_SUBJECTS / N_CORES / 3600
    print(f"a subject: {subject:.0f} CPU s; {N_SUBJECTS} on {N_CORES} cores: {hours:.2f} h")


if __name__ == "__main__":
    main()
