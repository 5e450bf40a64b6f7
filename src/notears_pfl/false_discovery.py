"""The false discovery rate of many tests."""

import numpy as np
import numpy.typing as npt


def benjamini_hochberg(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Adjust p-values to control the false discovery rate; those of the last axis are a family."""
    values = np.asarray(p, dtype=float)
    # NaN would make the whole family NaN.
    assert ((values >= 0) & (values <= 1)).all(), "p-values must be numbers from 0 to 1"
    order = np.argsort(values, axis=-1)
    m = values.shape[-1]
    scaled = np.take_along_axis(values, order, axis=-1) * (m / np.arange(1, m + 1))
    smallest = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(smallest, 1.0), axis=-1)
    return adjusted
