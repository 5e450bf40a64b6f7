"""Ready ROI series of a user's own study: labelled and checked."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from notears_pfl.errors import SignalError


def labelled_series(
    values: np.ndarray, rois: Sequence[str], selected: Sequence[str]
) -> pd.DataFrame:
    """Label the columns of unnamed series by the table of regions.

    As many columns as the table has regions are all of them in its order; as many as are
    selected are those.
    """
    if values.ndim == 2:
        for labels in (rois, selected):
            if values.shape[1] == len(labels):
                return pd.DataFrame(values, columns=list(labels))
    msg = (
        f"unnamed series of shape {values.shape}, but volumes by {len(rois)} regions, or by "
        f"the {len(selected)} selected, were needed. Name the columns, or transpose the array."
    )
    raise SignalError(msg)


def checked_series(series: pd.DataFrame, selected: Sequence[str]) -> pd.DataFrame:
    """Refuse series that lack a selected region, a number, or variation; others may miss it."""
    if series.empty:
        msg = "the series have no volumes. Export them again, or exclude the subject."
        raise SignalError(msg)
    missing = [roi for roi in selected if roi not in series]
    if missing:
        msg = (
            f"{len(missing)} selected regions have no column ({_few(missing)}). Name the columns "
            "by the abbreviations of the ROI table, or deselect the regions."
        )
        raise SignalError(msg)
    text = [roi for roi in selected if not pd.api.types.is_numeric_dtype(series[roi])]
    if text:
        cells = series[text[0]]
        words = cells[pd.to_numeric(cells, errors="coerce").isna() & cells.notna()]
        word = next(iter(words), cells.iloc[0])
        msg = (
            f"{len(text)} selected regions have text where numbers were needed ({_few(text)}; "
            f"{word!r} in {text[0]}). Repair or exclude the subject."
        )
        raise SignalError(msg)
    values = series[list(selected)].to_numpy(dtype=float)
    bad = [
        roi for roi, column in zip(selected, values.T, strict=True) if not np.isfinite(column).all()
    ]
    if bad:
        msg = (
            f"{len(bad)} selected regions have missing or infinite values ({_few(bad)}). Repair "
            "or exclude the subject."
        )
        raise SignalError(msg)
    flat = [roi for roi, sd in zip(selected, np.ptp(values, axis=0), strict=True) if sd == 0]
    if flat:
        msg = (
            f"{len(flat)} selected regions do not vary ({_few(flat)}). Exclude the subject, or "
            "deselect the regions."
        )
        raise SignalError(msg)
    return series


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
