"""A real head with skull: Colin27, on which AAL was drawn, from Debian's package mricron-data."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from notears_pfl.geometry import rigid_matrix, transform
from notears_pfl.io.images import read_image, read_volume
from notears_pfl.preproc.anatomy import prepare_anatomy
from notears_pfl.preproc.cautions import LOOKS
from notears_pfl.preproc.normalise import NormaliseOptions
from notears_pfl.preproc.template import HEAD_TEMPLATE, head_template, load_template

FOLDER, ROOT = Path("/usr/share/mricron/templates"), Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir() and not os.environ.get("CI"), reason="mricron-data is not installed"
)


@pytest.fixture(scope="module")
def colin():
    """Process the head, stored back to front and turned in its header."""
    head = read_volume(FOLDER / "ch2.nii.gz", oriented=True)
    turn = rigid_matrix(np.array([25.0, -40, 30, 0.2, -0.1, 0.25]))
    backwards = np.diag([1.0, -1.0, 1.0, 1.0])
    backwards[1, 3] = head.data.shape[1] - 1
    template, stored = load_template(2), read_image(HEAD_TEMPLATE)
    anatomy = prepare_anatomy(
        head.data[:, ::-1], turn @ head.affine @ backwards, template,
        head_template(stored.data, stored.affine, template), NormaliseOptions(),
    )  # fmt: skip
    return anatomy, turn


def test_the_brain_is_that_of_bet_with_a_margin(colin):
    anatomy, turn = colin
    other = read_volume(FOLDER / "ch2bet.nii.gz")
    voxels = np.linalg.inv(turn @ other.affine) @ anatomy.affine
    # The grids differ by the order of their voxels alone.
    indices = np.rint(transform(voxels, np.indices(anatomy.brain.shape).reshape(3, -1)))
    bet = other.data[tuple(indices.astype(int))].reshape(anatomy.brain.shape) > 0

    # BET leaves out the fluid around the brain.
    assert np.count_nonzero(bet & anatomy.brain) > 0.99 * np.count_nonzero(bet)
    assert np.count_nonzero(anatomy.brain) < 1.2 * np.count_nonzero(bet)


def test_no_figure_is_unusual(colin):
    figures = {name: figure for name, figure in colin[0].quality.items() if name in LOOKS}

    # The model of tissues may stop early on an image of 256 grey values.
    unusual = {n: f for n, f in figures.items() if LOOKS[n].caution(f)}
    assert unusual.keys() <= {"tissue_model_converged"}
    assert figures["template_agreement"] > 0.8


def test_centres_of_aal_are_carried_to_their_places_in_mni_space(colin):
    anatomy, turn = colin
    labels = read_volume(FOLDER / "aal.nii.gz")
    rois = pd.read_csv(ROOT / "config/rois.tsv", sep="\t")
    centres = np.stack(
        [np.argwhere(labels.data == code).mean(axis=0) for code in range(1, len(rois) + 1)], axis=1
    )

    found = anatomy.normalisation.to_template(transform(turn @ labels.affine, centres))

    away_mm = np.linalg.norm(found - rois[["x", "y", "z"]].to_numpy().T, axis=0)
    # Colin27 is a few mm off the mean of 152 brains.
    assert np.median(away_mm) < 5
    assert away_mm.max() < 12
