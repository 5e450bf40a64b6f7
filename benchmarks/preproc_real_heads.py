"""Brain extraction and normalisation of real heads with skull: overlap with reference masks.

    python benchmarks/preproc_real_heads.py HEADS MASKS [--pictures FOLDER]

HEADS is a folder of T1w images, MASKS one of brain masks with ``<name>_deepbet.nii.gz`` for each
(of another program: an opinion, not the truth). Prints per head the overlap (Dice) of the mask, the
quality figures that ``cohort.limits`` judges, CPU seconds and the largest memory; then the lowest
and the median overlap. ``--pictures`` writes an outline of the brain on three planes of each head.
"""

import argparse
import resource
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from notears_pfl.geometry import nearest_ras
from notears_pfl.io.images import read_image, read_volume
from notears_pfl.preproc.anatomy import Anatomy, prepare_anatomy
from notears_pfl.preproc.normalise import NormaliseOptions
from notears_pfl.preproc.template import HEAD_TEMPLATE, head_template, load_template

FIGURES = [
    "brain_ml", "head_agreement", "surface_correction", "template_agreement_affine",
    "template_agreement", "affine_volume", "smallest_jacobian",
]  # fmt: skip


def dice(a, b):
    """Overlap of two masks."""
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


def draw(anatomy: Anatomy, path: Path) -> None:
    """Draw the brain's outline on the middle planes of the head."""
    middle = np.argwhere(anatomy.brain).mean(axis=0).round().astype(int)
    voxel_mm = np.linalg.norm(anatomy.affine[:3, :3], axis=0)
    brightest = np.percentile(anatomy.t1w[anatomy.brain], 99.5)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), facecolor="black")
    for across, axis in enumerate(axes):
        along = [a for a in range(3) if a != across]
        image, mask = (np.take(v, middle[across], across).T for v in (anatomy.t1w, anatomy.brain))
        aspect = voxel_mm[along[1]] / voxel_mm[along[0]]
        axis.imshow(image, cmap="gray", vmin=0, vmax=brightest, origin="lower", aspect=aspect)
        axis.contour(mask, [0.5], colors="yellow", linewidths=0.8)
        axis.set_axis_off()
    figure.tight_layout(pad=0.1)
    figure.savefig(path, dpi=70)
    plt.close(figure)


def main() -> None:
    """Process every head and print how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("heads", type=Path)
    parser.add_argument("masks", type=Path)
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    template, stored = load_template(2), read_image(HEAD_TEMPLATE)
    head = head_template(stored.data, stored.affine, template)
    rows = {}
    for path in sorted(arguments.heads.glob("*.nii.gz")):
        name = path.name.removesuffix(".nii.gz")
        t1w, reference = read_volume(path), read_volume(arguments.masks / f"{name}_deepbet.nii.gz")
        start = time.process_time()
        anatomy = prepare_anatomy(t1w.data, t1w.affine, template, head, NormaliseOptions())
        cpu = time.process_time() - start
        mask, _ = nearest_ras(reference.data > 0, reference.affine)
        rows[name] = {
            "dice": dice(mask, anatomy.brain),
            **{figure: anatomy.quality.get(figure) for figure in FIGURES},
            "cpu_s": cpu,
            "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }
        print(pd.DataFrame({name: rows[name]}).T.round(3).to_string(header=len(rows) == 1))
        if arguments.pictures:
            arguments.pictures.mkdir(exist_ok=True)
            draw(anatomy, arguments.pictures / f"{name}.png")
    table = pd.DataFrame(rows).T
    print(f"{len(table)} heads; dice lowest {table['dice'].min():.3f}, median ", end="")
    print(f"{table['dice'].median():.3f}; CPU s median {table['cpu_s'].median():.1f}")


if __name__ == "__main__":
    main()
