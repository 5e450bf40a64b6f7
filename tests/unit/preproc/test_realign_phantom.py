"""Motion of the phantom's head is found at every site's own resolution and timing."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.geometry import rigid_matrix, rigid_parameters
from notears_pfl.phantom.cohort import site_protocol
from notears_pfl.phantom.head import random_deformation, template_head
from notears_pfl.phantom.movement import random_motion
from notears_pfl.phantom.scan import SubjectOptions
from notears_pfl.phantom.scanner import acquire_bold, bold_affine, bold_scene
from notears_pfl.phantom.signals import draw_series
from notears_pfl.preproc.realign import RealignOptions, estimate_motion
from notears_pfl.preproc.template import load_template
from notears_pfl.seeds import stream

ROOT = Path(__file__).parents[3]
SITES = pd.read_csv(ROOT / "config/sites.tsv", sep="\t").set_index("site", drop=False)
N_VOLUMES, DROPPED = 16, 5


@pytest.fixture(scope="module")
def phantom():
    """Give the phantom's settings and its head."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    rois = pd.read_csv(ROOT / "config/rois.tsv", sep="\t")
    head = template_head(
        **vars(load_template(2)), coordinates=rois[["x", "y", "z"]].to_numpy(), max_distance_mm=18
    )
    return SubjectOptions.from_settings(config["phantom"]), head


@pytest.mark.parametrize("site", SITES.index)
def test_motion_is_found_within_a_twentieth_of_a_millimetre_and_degree(phantom, site):
    options, head = phantom
    draw = partial(stream, 3, site)
    protocol = replace(site_protocol(SITES.loc[site].to_dict(), 1.0), n_volumes=N_VOLUMES)
    motion = random_motion(draw("motion"), N_VOLUMES, options.motion)
    tr, no_network = protocol.repetition_time, np.zeros((116, 116))
    series = draw_series(draw("series"), no_network, N_VOLUMES, tr, options.signal)
    field = random_deformation(draw("shape"), options.anatomy)
    scene = bold_scene(head, field, protocol.voxel_mm)
    bold = acquire_bold(
        draw("bold"), scene, series, motion, np.eye(4), protocol, 1000.0, options.scanner
    )[..., DROPPED:]

    affine = bold_affine(protocol, options.scanner.slab_centre_mm)
    found = estimate_motion(bold, affine, RealignOptions())

    kept = rigid_matrix(motion[DROPPED:])
    truth = rigid_parameters(np.linalg.inv(kept[0]) @ kept)
    error = found.parameters - truth
    assert found.converged.all()
    assert np.abs(truth[:, :3]).max() > 0.3
    assert np.sqrt(np.mean(error[:, :3] ** 2)) < 0.05
    assert np.degrees(np.sqrt(np.mean(error[:, 3:] ** 2))) < 0.05
