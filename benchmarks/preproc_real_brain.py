"""Tissues and normalisation of real T1w images: agreement with the template, and pictures.

    python benchmarks/preproc_real_brain.py T1W_OR_FOLDER ... [--syn MI CC] [--pictures FOLDER]

Compares ways to the template, from the same brain: our affine alone; our diffeomorphic registration
(greedy, started by the affine of the head template); the same with greedy's usual start, the
centres of the images; and, where antspyx is installed, SyN of ANTs: with mutual information at the
template's 2 mm (antspyx's own settings), or with cross-correlation at 3 mm (radius of 2 voxels, 100
× 50 × 10 iterations: at 2 mm and antspyx's radius of 4 it takes more than ten minutes a head).
Printed are the overlap (Dice) of grey and of white matter with the template's, and the correlation
of intensities, over the template's brain. A voxel's tissue follows from its intensity alone; the
tissues' means are fitted with the template's priors after our affine, for all ways alike. Nothing
here is tested against a truth: there is none.
"""

import argparse
import importlib.util
import tempfile
import time
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from notears_pfl.geometry import nearest_ras, transform
from notears_pfl.io.images import read_image, read_volume, write_image
from notears_pfl.preproc.anatomy import Anatomy, prepare_anatomy
from notears_pfl.preproc.brain import is_stripped, volume_ml
from notears_pfl.preproc.engines.ants import map_from_lps
from notears_pfl.preproc.normalise import NormaliseOptions, normalise, template_agreement
from notears_pfl.preproc.pictures import PLANES, normalisation_slices
from notears_pfl.preproc.resample import Normalisation, downsample, sample_volume
from notears_pfl.preproc.template import (
    HEAD_TEMPLATE,
    BrainTemplate,
    head_template,
    load_template,
)
from notears_pfl.preproc.tissues import fit_tissues, refit_tissues, tissue_probabilities

# By metric: voxels of the template in mm, and arguments of antspyx where they differ from its own.
SYN = {
    "MI": (2.0, {}),
    "CC": (3.0, {"syn_metric": "CC", "syn_sampling": 2, "reg_iterations": (100, 50, 10)}),
}


def dice(a, b):
    """Overlap of two masks."""
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


def syn(brain, affine, template: BrainTemplate, metric: str) -> Normalisation:
    """Normalise by SyN of ANTs with a ``metric``."""
    import ants

    voxel_mm, settings = SYN[metric]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_image(np.asarray(brain, np.float32), affine, folder / "moving.nii")
        target, grid = downsample(template.t1w, template.affine, voxel_mm)
        write_image(target, grid.affine, folder / "fixed.nii")
        moving, fixed = (ants.image_read(str(folder / f"{n}.nii")) for n in ("moving", "fixed"))
        found = ants.registration(
            fixed, moving, "SyN", random_seed=1, outprefix=f"{name}/syn_", **settings
        )
        transforms = found["fwdtransforms"]
        path = ants.apply_transforms(fixed, moving, transforms, compose=f"{name}/field_")
        field = read_image(path)
    return map_from_lps(field.data, field.affine)


def from_centres(brain, affine, template: BrainTemplate) -> Normalisation:
    """Normalise from greedy's usual start: the centre of one image on that of the other."""
    start = np.eye(4)
    start[:3, 3] = _centre(brain.shape, affine) - _centre(template.t1w.shape, template.affine)
    return normalise(brain, affine, template.t1w, template.affine, NormaliseOptions(), start)


def _centre(shape, affine):
    return transform(affine, (np.array(shape, dtype=float)[:, None] - 1) / 2)[:, 0]


def own_tissues(anatomy: Anatomy, template: BrainTemplate) -> np.ndarray:
    """Tissue probabilities (3, x, y, z) on the image's own grid, by intensity alone."""
    inside, values = anatomy.brain, anatomy.t1w[anatomy.brain]
    model = fit_tissues(anatomy.t1w, inside, np.linalg.norm(anatomy.affine[:3, :3], axis=0))
    points = transform(anatomy.affine, np.argwhere(inside).T.astype(float))
    where = anatomy.normalisation.affine_only().to_template(points)
    priors = [sample_volume(tissue, template.affine, where, 1) for tissue in template.tissues()]
    tissues = np.zeros((3, *inside.shape), dtype=np.float32)
    tissues[:, inside] = tissue_probabilities(
        values, refit_tissues(model, values, np.stack(priors))
    )
    return tissues


def score(normalisation, tissues, anatomy: Anatomy, template: BrainTemplate) -> dict[str, float]:
    """Overlap of tissues, correlation of intensities and smallest Jacobian."""
    inside = template.brain.ravel()
    points = transform(template.affine, np.argwhere(template.brain).T.astype(float))
    where = normalisation.to_t1w(points)
    ours = np.stack([sample_volume(tissue, anatomy.affine, where, 1) for tissue in tissues])
    theirs = template.tissues().reshape(3, -1)[:, inside]
    grey, white = (dice(ours.argmax(0) == k, theirs.argmax(0) == k) for k in (1, 2))
    return {
        "grey": grey,
        "white": white,
        "r": template_agreement(
            anatomy.t1w * anatomy.brain, anatomy.affine, normalisation, template
        ),
        "smallest_jacobian": float(normalisation.jacobian().min()),
    }


def draw(slices, path: Path) -> None:
    """Draw the slices with the template's outlines."""
    figure, axes = plt.subplots(len(PLANES), 3, figsize=(9, 9), facecolor="black")
    for row, plane in zip(axes, PLANES, strict=True):
        for axis, image, outline in zip(
            row, slices[plane], slices[f"{plane}_outline"], strict=True
        ):
            axis.imshow(image, cmap="gray", vmin=0, vmax=255)
            axis.imshow(np.ma.masked_equal(outline, 0), cmap="autumn", interpolation="nearest")
            axis.axis("off")
    figure.tight_layout(pad=0.2)
    figure.savefig(path, dpi=100)


def compare(path: Path, template: BrainTemplate, head, metrics, pictures) -> pd.DataFrame:
    """Prepare the anatomy of an image; score and time every way to the template."""
    t1w = read_volume(path)
    voxel_mm = np.linalg.norm(t1w.affine[:3, :3], axis=0)
    begin = time.process_time()
    anatomy = prepare_anatomy(t1w.data, t1w.affine, template, head, NormaliseOptions())
    name = path.name.removesuffix(".nii.gz")
    print(f"\n{name}: {t1w.data.shape}, {voxel_mm.round(2)} mm; stripped: ", end="")
    print(f"{is_stripped(t1w.data, voxel_mm)}; all steps on T1w ", end="")
    print(f"{time.process_time() - begin:.0f} CPU s")
    tissues = own_tissues(anatomy, template)
    share = [tissues[k].sum() / tissues.sum() for k in range(3)]
    print(f"brain {volume_ml(anatomy.brain, voxel_mm):.0f} ml; ", end="")
    print("fluid, grey and white matter", np.round(share, 3))
    if importlib.util.find_spec("deepbet"):
        from notears_pfl.preproc.engines.deepbet import find_brain

        other, _ = nearest_ras(find_brain(t1w.data, t1w.affine), t1w.affine)
        print(f"brain mask, Dice with deepbet's {dice(anatomy.brain, other):.3f}")
    brain = anatomy.t1w * anatomy.brain
    coarse, grid = downsample(brain, anatomy.affine, 1.5)
    ways = {
        "affine alone": anatomy.normalisation.affine_only,
        "own": lambda: anatomy.normalisation,
        "greedy, usual start": lambda: from_centres(brain, anatomy.affine, template),
    } | {f"SyN {metric}": partial(syn, coarse, grid.affine, template, metric) for metric in metrics}
    rows = {}
    for way, found in ways.items():
        begin = time.process_time()
        normalisation = found()
        cpu = time.process_time() - begin
        rows[way] = score(normalisation, tissues, anatomy, template) | {"cpu_s": cpu}
    table = pd.DataFrame(rows).T
    print(table.round(3).to_string(), flush=True)
    if pictures:
        pictures.mkdir(exist_ok=True)
        slices = normalisation_slices(brain, anatomy.affine, anatomy.normalisation, template)
        draw(slices, pictures / f"{name}.png")
    return table


def main() -> None:
    """Compare the ways on every image; print the median and the lowest of each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("t1w", type=Path, nargs="+", help="images, or folders of them")
    parser.add_argument(
        "--syn", nargs="*", choices=list(SYN), default=["MI"], help="metrics of SyN"
    )
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    paths = [
        path
        for given in arguments.t1w
        for path in (sorted(given.glob("*.nii.gz")) if given.is_dir() else [given])
    ]
    metrics = arguments.syn if importlib.util.find_spec("ants") else []
    template, stored = load_template(2), read_image(HEAD_TEMPLATE)
    head = head_template(stored.data, stored.affine, template)
    tables = [compare(path, template, head, metrics, arguments.pictures) for path in paths]
    by_way = pd.concat(tables).groupby(level=0, sort=False)
    print(f"\nmedian over {len(tables)} images\n{by_way.median().round(3).to_string()}")
    print(f"\nlowest\n{by_way.min().round(3).to_string()}")


if __name__ == "__main__":
    main()
