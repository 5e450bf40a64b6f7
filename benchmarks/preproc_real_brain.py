"""Tissues and normalisation of a real T1w image: agreement with the template, and pictures.

    python benchmarks/preproc_real_brain.py T1W.nii.gz [--picture slices.png]

Compares ways to the template: our affine alone, our diffeomorphic registration (greedy), and,
where they are installed, SyN of ANTs (antspyx) and deepbet for the brain mask. The tissues that are
compared with the template's are those of the image alone, without the template's as priors:
overlap (Dice) of grey and of white matter, and the correlation of intensities, over the
template's brain. Nothing here is tested against a truth: there is none.
"""

import argparse
import importlib.util
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from notears_pfl.geometry import nearest_ras
from notears_pfl.io.images import read_image, read_volume, write_image
from notears_pfl.preproc.anatomy import Anatomy, prepare_anatomy
from notears_pfl.preproc.brain import is_stripped, volume_ml
from notears_pfl.preproc.engines.ants import map_from_lps
from notears_pfl.preproc.normalise import NormaliseOptions, template_agreement
from notears_pfl.preproc.pictures import PLANES, normalisation_slices
from notears_pfl.preproc.resample import Normalisation, downsample, sample_volume
from notears_pfl.preproc.template import (
    HEAD_TEMPLATE,
    BrainTemplate,
    head_template,
    load_template,
)
from notears_pfl.preproc.tissues import fit_tissues, tissue_probabilities


def dice(a, b):
    """Overlap of two masks."""
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


def syn(brain, affine, template: BrainTemplate) -> Normalisation:
    """Normalise by SyN of ANTs with mutual information, at the template's resolution."""
    import ants

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_image(np.asarray(brain, np.float32), affine, folder / "moving.nii")
        write_image(np.asarray(template.t1w, np.float32), template.affine, folder / "fixed.nii")
        moving, fixed = (ants.image_read(str(folder / f"{n}.nii")) for n in ("moving", "fixed"))
        found = ants.registration(fixed, moving, "SyN", random_seed=1, outprefix=f"{name}/syn_")
        transforms = found["fwdtransforms"]
        path = ants.apply_transforms(fixed, moving, transforms, compose=f"{name}/field_")
        field = read_image(path)
    return map_from_lps(field.data, field.affine)


def own_tissues(anatomy: Anatomy, affine) -> np.ndarray:
    """Tissue probabilities (3, x, y, z) on the image's own grid, without priors."""
    model = fit_tissues(anatomy.t1w, anatomy.brain, np.linalg.norm(affine[:3, :3], axis=0))
    corrected = anatomy.t1w / model.bias(anatomy.t1w.shape)
    tissues = np.zeros((3, *anatomy.brain.shape), dtype=np.float32)
    tissues[:, anatomy.brain] = tissue_probabilities(corrected[anatomy.brain], model)
    return tissues


def score(normalisation, tissues, anatomy: Anatomy, affine, template: BrainTemplate) -> str:
    """Overlap of tissues and correlation of intensities, in a line."""
    inside = template.brain.ravel()
    points = np.array(np.nonzero(template.brain), dtype=float)
    points = template.affine[:3, :3] @ points + template.affine[:3, 3:]
    where = normalisation.to_t1w(points)
    ours = np.stack([sample_volume(tissue, affine, where, 1) for tissue in tissues])
    theirs = template.tissues().reshape(3, -1)[:, inside]
    grey, white = (dice(ours.argmax(0) == k, theirs.argmax(0) == k) for k in (1, 2))
    r = template_agreement(anatomy.t1w * anatomy.brain, affine, normalisation, template)
    least = float(normalisation.jacobian().min())
    return f"grey {grey:.3f}  white {white:.3f}  r {r:.3f}  smallest Jacobian {least:.2f}"


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


def main() -> None:
    """Prepare the anatomy and print how it agrees with the template."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("t1w", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    t1w, template = read_volume(arguments.t1w), load_template(2)
    stored = read_image(HEAD_TEMPLATE)
    head = head_template(stored.data, stored.affine, template)
    voxel_mm = np.linalg.norm(t1w.affine[:3, :3], axis=0)
    start = time.process_time()
    anatomy = prepare_anatomy(t1w.data, t1w.affine, template, head, NormaliseOptions())
    print(f"{t1w.data.shape}, {voxel_mm.round(2)} mm; stripped: {is_stripped(t1w.data, voxel_mm)}")
    print(f"brain {volume_ml(anatomy.brain, voxel_mm):.0f} ml; all steps on T1w ", end="")
    print(f"{time.process_time() - start:.0f} CPU s")
    tissues = own_tissues(anatomy, anatomy.affine)
    share = [tissues[k].sum() / tissues.sum() for k in range(3)]
    print("fluid, grey and white matter", np.round(share, 3))
    ways = {"affine alone": anatomy.normalisation.affine_only(), "greedy": anatomy.normalisation}
    if importlib.util.find_spec("ants"):
        start = time.process_time()
        brain, grid = downsample(anatomy.t1w * anatomy.brain, anatomy.affine, 1.5)
        ways["SyN"] = syn(brain, grid.affine, template)
        print(f"SyN {time.process_time() - start:.0f} CPU s")
    for name, way in ways.items():
        print(f"{name:13s}", score(way, tissues, anatomy, anatomy.affine, template), flush=True)
    if importlib.util.find_spec("deepbet"):
        from notears_pfl.preproc.engines.deepbet import find_brain

        other, _ = nearest_ras(find_brain(t1w.data, t1w.affine), t1w.affine)
        print(f"brain mask, Dice with deepbet's {dice(anatomy.brain, other):.3f}")
    if arguments.picture:
        brain = anatomy.t1w * anatomy.brain
        draw(
            normalisation_slices(brain, anatomy.affine, anatomy.normalisation, template),
            arguments.picture,
        )


if __name__ == "__main__":
    main()
