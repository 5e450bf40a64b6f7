"""Registration of BOLD to T1w: mutual information first, then the boundary of white matter.

Rigid registration by normalised mutual information from several starts brings the mean BOLD image
near. Its final place minimises Σ_i [1 − tanh(c s q_i)] over points i of the white matter's surface
(Greve and Fischl 2009): q_i = 100 (G_i − W_i) / ½ (G_i + W_i) is the contrast in per cent between
the grey side and the white side in the BOLD image, s its usual sign and c a slope. The share of the
surface that shows that sign is the ``agreement``: one half by chance, or with another person's
brain.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates, spline_filter
from scipy.optimize import minimize

from notears_pfl.errors import SignalError
from notears_pfl.geometry import FWHM_PER_SIGMA, Floats, about, rigid_matrix, transform
from notears_pfl.preproc.greedy import Registration
from notears_pfl.preproc.resample import Grid, downsample, mean_edge_mm
from notears_pfl.preproc.volumes import DROPOUT

# T1w-like intensities of fluid, grey and white matter: mutual information needs some contrast.
CONTRAST = np.array([0.3, 0.65, 1.0], dtype=np.float32)
# One start is enough if it agrees this well; otherwise two are tried, and others, which turn the
# head, if these do not agree well either.
SURE_AGREEMENT, GOOD_AGREEMENT, TURN_DEG = 0.85, 0.78, 20.0


@dataclass(frozen=True)
class CoregisterOptions:
    """How BOLD is registered to T1w; not in the configuration.

    Mutual information is computed on voxels of at least ``working_mm``, or ``working_voxels`` of a
    BOLD voxel, up to ``rim_mm`` outside the brain, after ``search`` random trials per start
    (number, standard deviations in degrees and mm). The contrast is taken ``step_mm`` on either
    side of the white matter's surface, but no closer than ``step_voxels`` of a BOLD voxel: close to
    it to register, farther away, where noise matters less, to judge the result. Points less than
    ``depth_voxels`` of a BOLD voxel from the edge of the brain do not take part in registration:
    BOLD voxels there are mixed with what lies outside, which moved the result by up to 1 mm.
    """

    working_mm: float = 3.0
    working_voxels: float = 0.75
    rim_mm: float = 10.0
    search: tuple[int, float, float] = (200, 10.0, 10.0)
    iterations: tuple[int, ...] = (100, 50)
    surface_points: int = 5000
    step_mm: float = 1.5
    step_voxels: float = 0.3
    depth_voxels: float = 1.5
    judged_step_mm: float = 2.5
    judged_step_voxels: float = 0.5
    max_iterations: int = 30
    tolerance_mm: float = 0.02
    fewest_points: int = 200


@dataclass(frozen=True)
class Coregistration:
    """Matrix (4, 4) from T1w to BOLD coordinates, and how well it fits.

    ``agreement`` is the share of the white matter's surface with the usual contrast; NaN if too
    little of the surface is in the field of view.
    """

    matrix: Floats
    agreement: float
    converged: bool


@dataclass(frozen=True)
class WhiteSurface:
    """Points (3, n) on the white matter's surface, and unit normals (3, n) towards its inside.

    ``depth_mm`` (n,) is how far a point lies from the edge of the brain.
    """

    points: Floats
    normals: Floats
    depth_mm: Floats


def coregister(
    mean_bold: Floats,
    bold_affine: Floats,
    probabilities: Floats,
    grid: Grid,
    options: CoregisterOptions,
) -> Coregistration:
    """Register ``mean_bold`` (x, y, z) to the T1w image.

    ``probabilities`` (3, x, y, z) of cerebrospinal fluid, grey and white matter are on ``grid``.
    """
    boundary = _Boundary(mean_bold, bold_affine, white_surface(probabilities, grid), options)
    best = Coregistration(np.eye(4), float("nan"), converged=False)
    lowest = np.inf
    for n_tried, start in enumerate(
        _mutual_information(mean_bold, bold_affine, probabilities, grid, options), start=1
    ):
        cost, matrix, converged = boundary.refined(start)
        if cost < lowest:
            lowest = cost
            best = Coregistration(matrix, boundary.agreement(matrix), converged)
        if best.agreement > (SURE_AGREEMENT if n_tried == 1 else GOOD_AGREEMENT):
            break
    return best


def boundary_agreement(
    mean_bold: Floats, bold_affine: Floats, probabilities: Floats, grid: Grid, matrix: Floats
) -> float:
    """Agreement, as in ``Coregistration``, of a ``matrix`` that another program found."""
    surface = white_surface(probabilities, grid)
    return _Boundary(mean_bold, bold_affine, surface, CoregisterOptions()).agreement(matrix)


def white_surface(probabilities: Floats, grid: Grid) -> WhiteSurface:
    """Surface between white and grey matter, where it is sharp and fluid is not near."""
    sigma = 1.5 * grid.voxel_mm.max() / FWHM_PER_SIGMA / grid.voxel_mm
    grey, white = (gaussian_filter(np.asarray(p, np.float32), sigma) for p in probabilities[1:])
    to_world = np.linalg.inv(grid.affine[:3, :3]).T
    gradient = np.tensordot(to_world, np.stack(np.gradient(white)), axes=1)
    steepness = np.linalg.norm(gradient, axis=0)
    on_surface = np.abs(white - 0.5) < 0.2
    if on_surface.any():
        on_surface &= (white + grey > 0.9) & (steepness > np.percentile(steepness[on_surface], 40))
    voxels = np.argwhere(on_surface).T.astype(float)
    brain = np.pad(np.sum(probabilities, axis=0) > 0.5, 1)
    depth_mm = distance_transform_edt(brain, sampling=grid.voxel_mm)[1:-1, 1:-1, 1:-1]
    return WhiteSurface(
        points=transform(grid.affine, voxels),
        normals=gradient[:, on_surface] / steepness[on_surface],
        depth_mm=depth_mm[on_surface],
    )


class _Boundary:
    """The mean BOLD image on both sides of the white matter's surface."""

    def __init__(
        self, mean_bold: Floats, affine: Floats, surface: WhiteSurface, options: CoregisterOptions
    ):
        self.options = options
        # Linear interpolation would blur least at voxel centres and draw the surface there.
        self.coefficients = spline_filter(np.asarray(mean_bold, dtype=np.float32))
        self.to_voxel = np.linalg.inv(affine)
        edge_mm = mean_edge_mm(affine)
        deep = surface.depth_mm >= options.depth_voxels * edge_mm
        if np.count_nonzero(deep) < deep.size / 2:
            deep = surface.depth_mm >= np.median(surface.depth_mm)
        near_mm = max(options.step_mm, options.step_voxels * edge_mm)
        far_mm = max(options.judged_step_mm, options.judged_step_voxels * edge_mm)
        self.near = self._sides(surface, deep, near_mm)
        self.far = self._sides(surface, np.ones_like(deep), far_mm)
        self.centre = self.far.mean(axis=(1, 2))[:, None] if deep.size else np.zeros((3, 1))

    def _sides(self, surface: WhiteSurface, kept: NDArray[np.bool_], step_mm: float) -> Floats:
        """Points (3, 2, n) on the white and on the grey side of some of those ``kept``."""
        every = max(1, np.count_nonzero(kept) // self.options.surface_points)
        points, normals = surface.points[:, kept][:, ::every], surface.normals[:, kept][:, ::every]
        return np.stack([points + step_mm * normals, points - step_mm * normals], axis=1)

    def contrast(self, matrix: Floats, sides: Floats) -> Floats:
        """Contrast in per cent (n,) between ``sides`` (3, 2, n); NaN where there is no signal."""
        voxels = transform(self.to_voxel @ matrix, sides)
        upper = np.array(self.coefficients.shape)[:, None, None] - 1.0
        in_view = np.all((voxels >= 0) & (voxels <= upper), axis=(0, 1))
        contrast = np.full(in_view.shape, np.nan)
        white, grey = map_coordinates(self.coefficients, voxels[..., in_view], prefilter=False)
        if white.size:
            least = DROPOUT * np.median(np.concatenate([white, grey]))
            seen = (white > least) & (grey > least)
            percent = 200 * (grey - white) / np.where(seen, grey + white, 1)
            contrast[in_view] = np.where(seen, percent, np.nan)
        return contrast

    def refined(self, start: Floats) -> tuple[float, Floats, bool]:
        """Lowest cost near ``start``, its matrix, and whether the search ended there.

        The points are those that the start sees; one that a move hides has no contrast, so that
        hiding points does not pay. The slope follows the usual contrast of the image.
        """
        first = self.contrast(start, self.near)
        seen = np.isfinite(first)
        if np.count_nonzero(seen) < self.options.fewest_points:
            return np.inf, start, False
        # Which tissue is brighter depends on the sequence: grey matter, usually.
        sign = 1.0 if np.median(first[seen]) >= 0 else -1.0
        slope = sign / max(float(np.median(np.abs(first[seen]))), 1e-6)
        # One unit is 1 mm: at 50 mm from the centre, for rotations.
        units = np.array([1, 1, 1, 0.02, 0.02, 0.02])

        def moved(parameters: NDArray[np.float64]) -> Floats:
            return start @ about(self.centre, rigid_matrix(parameters * units))

        def cost(parameters: NDArray[np.float64]) -> float:
            contrast = np.nan_to_num(self.contrast(moved(parameters), self.near)[seen])
            return float(np.mean(1 - np.tanh(slope * contrast)))

        best = minimize(
            cost,
            np.zeros(6),
            method="Powell",
            options={
                "xtol": self.options.tolerance_mm,
                "ftol": 1e-5,
                "maxiter": self.options.max_iterations,
            },
        )
        return float(best.fun), moved(best.x), bool(best.success)

    def agreement(self, matrix: Floats) -> float:
        """Share of the surface in view whose contrast has the usual sign."""
        contrast = self.contrast(matrix, self.far)
        seen = contrast[np.isfinite(contrast)]
        if seen.size < self.options.fewest_points:
            return float("nan")
        share = float(np.mean(seen > 0))
        return max(share, 1 - share)


def _mutual_information(
    mean_bold: Floats,
    bold_affine: Floats,
    probabilities: Floats,
    grid: Grid,
    options: CoregisterOptions,
) -> Iterator[Floats]:
    """Find a matrix from each start.

    The first two are the scanner's coordinates and aligned centres of mass; then the head turns.
    """
    tissues = np.tensordot(CONTRAST, np.asarray(probabilities, np.float32), axes=1)
    working_mm = max(options.working_mm, options.working_voxels * mean_edge_mm(bold_affine))
    fixed, fixed_grid = downsample(tissues, grid.affine, working_mm)
    moving = downsample(mean_bold, bold_affine, working_mm)
    outside_mm = distance_transform_edt(fixed < 0.1, sampling=fixed_grid.voxel_mm)
    registration = Registration((fixed, fixed_grid), moving, {"rim": outside_mm <= options.rim_mm})
    middle = _centre(fixed, fixed_grid)
    by_centre = np.eye(4)
    by_centre[:3, 3] = _centre(_bright(moving[0]), moving[1]) - middle
    turns = np.radians(TURN_DEG) * np.concatenate([np.eye(3), -np.eye(3)])
    turned = [about(middle[:, None], rigid_matrix(np.array([0, 0, 0, *turn]))) for turn in turns]
    for start in (np.eye(4), by_centre, *(by_centre @ turn for turn in turned)):
        yield registration.matrix(
            6, "NMI", options.iterations, start, mask="rim", search=options.search
        )


def _bright(volume: Floats) -> Floats:
    return np.asarray(volume * (volume > 0.3 * np.percentile(volume, 98)))


def _centre(volume: Floats, grid: Grid) -> Floats:
    return np.asarray(grid.points() @ volume.ravel() / volume.sum(dtype=float))


def check_agreement(coregistration: Coregistration) -> None:
    """Refuse a registration in which BOLD and T1w have too little brain in common."""
    if not np.isfinite(coregistration.agreement):
        msg = (
            "The mean BOLD image cannot be registered to the T1w image: too little of the white "
            "matter's surface, as found in the T1w image, has signal in the BOLD image. Look at "
            "both images, or leave this subject out."
        )
        raise SignalError(msg)


def coregister_sentence(program: str | None = None) -> str:
    """Methods: how BOLD was registered to T1w."""
    how = (
        f"by {program}"
        if program
        else "by mutual information (greedy) and then by the boundary of white matter (Greve and "
        "Fischl 2009)"
    )
    return f"The mean BOLD image was registered rigidly to the T1w image's tissues {how}."
