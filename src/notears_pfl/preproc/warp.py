"""The map from template to T1w image, and how it is asked for; free of the engine that finds it.

A template point p is found at p + v(p) in the T1w image, all in RAS+ millimetres.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from notears_pfl.geometry import transform
from notears_pfl.preproc.resample import Grid
from notears_pfl.preproc.rigid import Floats


@dataclass(frozen=True)
class BrainTemplate:
    """The template brain: intensities and tissue shares (x, y, z), zero outside the brain."""

    t1w: Floats
    grey: Floats
    white: Floats
    brain: NDArray[np.bool_]
    affine: Floats

    def tissues(self) -> Floats:
        """Shares (3, x, y, z) of fluid, grey and white matter."""
        fluid = np.clip(1 - self.grey - self.white, 0, 1) * self.brain
        return np.stack([fluid, self.grey, self.white])


@dataclass(frozen=True)
class Normalisation:
    """The map from template to T1w: displacement v (x, y, z, 3) on a grid of the template.

    ``affine`` (4, 4) is the part of it that was found first.
    """

    displacement: NDArray[np.float32]
    grid: Grid
    affine: Floats

    @classmethod
    def from_field(cls, field: Floats, field_affine: Floats, affine: Floats) -> "Normalisation":
        """Make the map from a stored ``field`` (x, y, z, 1, 3) of displacements."""
        n_x, n_y, n_z = field.shape[:3]
        displacement = np.asarray(field, dtype=np.float32).reshape(n_x, n_y, n_z, 3)
        return cls(displacement, Grid((n_x, n_y, n_z), field_affine), np.asarray(affine))

    def to_t1w(self, points: Floats) -> Floats:
        """T1w coordinates of template ``points`` (3, n)."""
        voxels = transform(np.linalg.inv(self.grid.affine), points)
        shift = [
            map_coordinates(self.displacement[..., axis], voxels, order=1, mode="nearest")
            for axis in range(3)
        ]
        return np.asarray(points + np.stack(shift))

    def to_template(self, points: Floats, n_iterations: int = 6) -> Floats:
        """Template coordinates of T1w ``points`` (3, n), by fixed-point iteration."""
        back = np.linalg.inv(self.affine)
        found = transform(back, points)
        for _ in range(n_iterations):
            found = found - back[:3, :3] @ (self.to_t1w(found) - points)
        return found

    def jacobian(self) -> Floats:
        """Give the volume change of the map at each voxel; positive where nothing folds."""
        by_voxel = np.stack([np.gradient(self.displacement, axis=a) for a in range(3)], axis=-1)
        derivative = np.eye(3) + by_voxel @ np.linalg.inv(self.grid.affine[:3, :3])
        return np.asarray(np.linalg.det(derivative))


def affine_only(normalisation: Normalisation) -> Normalisation:
    """Leave only the affine part of a map."""
    points = normalisation.grid.points()
    shift = transform(normalisation.affine, points) - points
    displacement = shift.T.reshape(*normalisation.grid.shape, 3).astype(np.float32)
    return Normalisation(displacement, normalisation.grid, normalisation.affine)
