"""What the steps of preprocessing can be asked for; free of the code that does them."""

import math
from dataclasses import dataclass, field
from typing import Literal

Kernel = Literal["spm", "gaussian"]
# Columns of head motion and of Friston's 24 regressors.
MOTION = ("trans_x", "trans_y", "trans_z", "rot_x", "rot_y", "rot_z")
FRISTON_24 = tuple(
    f"{name}{suffix}" for suffix in ("", "_lag1", "_sq", "_lag1_sq") for name in MOTION
)


@dataclass(frozen=True)
class NormaliseOptions:
    """How brains are normalised; not in the configuration.

    Registration works on voxels ``working_factor`` times as large as the largest edge of the
    T1w image's, but no larger than 4 mm. Iterations are per level, from coarse to fine, each
    twice as fine as the one before: three levels for working voxels below 3 mm, two below 6 mm,
    one above. The smoothing of the update and of the whole field is in voxels, the ``radius``
    of the correlation too.
    """

    working_factor: float = 2.0
    affine_iterations: tuple[int, int, int] = (40, 10, 5)
    warp_iterations: tuple[int, int, int] = (60, 20, 10)
    radius: int = 2
    smooth_update: float = 1.732
    smooth_total: float = 0.7071


@dataclass(frozen=True)
class RealignOptions:
    """How motion is estimated; not in the configuration.

    Blur is at least 1.4 voxels and points are at least a voxel apart, whatever is asked for.
    ``quality`` is the share of the motion information kept when points are left out.
    """

    fwhm_mm: float = 6.0
    separation_mm: float = 4.0
    quality: float = 0.98
    register_to_mean: bool = True
    max_iterations: int = 32
    tolerance_mm: float = 3e-3


@dataclass(frozen=True)
class CoregisterOptions:
    """How BOLD is brought to T1w; not in the configuration.

    ``blur_mm`` lists the widths (FWHM) from coarse to fine; no blur is finer than a BOLD voxel.
    """

    blur_mm: tuple[float, ...] = (12.0, 7.0, 4.0)
    separation_mm: float = 6.0
    max_iterations: int = 40
    tolerance_mm: float = 1e-3


@dataclass(frozen=True)
class ResampleOptions:
    """The grid in MNI space and the order of the interpolating spline (``preproc.resample``)."""

    voxel_mm: float = 3.0
    order: int = 2


@dataclass(frozen=True)
class FunctionalOptions:
    """How a run is processed up to signals in MNI space.

    Fields are keys under ``preproc``, but for ``realign`` and ``coregister``.
    """

    drop_volumes: int = 10
    slice_timing: bool = True
    motion_from: Literal["slice_timed", "raw"] = "raw"
    realign: RealignOptions = field(default_factory=RealignOptions)
    coregister: CoregisterOptions = field(default_factory=CoregisterOptions)
    resample: ResampleOptions = field(default_factory=ResampleOptions)


@dataclass(frozen=True)
class SmoothOptions:
    """Width and kind of the smoothing kernel (``preproc.smooth``); 0 for none."""

    fwhm_mm: float = 6.0
    kernel: Kernel = "spm"

    def effective_fwhm_mm(self, voxel_mm: float) -> float:
        """Width of the Gaussian that the kernel amounts to."""
        if self.kernel == "gaussian":
            return self.fwhm_mm
        return math.sqrt(self.fwhm_mm**2 + 8 * math.log(2) * voxel_mm**2 / 6)


@dataclass(frozen=True)
class CleanOptions:
    """How signals are cleaned; the fields are the keys of ``preproc.clean``.

    ``dparsf`` detrends, regresses the confounds and then filters, each on the result of the
    one before. ``simultaneous`` removes trend, confounds and all frequencies outside the band
    in one regression, so that no step brings back what another took out.
    """

    order: Literal["dparsf", "simultaneous"] = "dparsf"
    low_hz: float = 0.01
    high_hz: float = 0.08
