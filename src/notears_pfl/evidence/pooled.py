"""The pooled fit of patients and controls, from which all draws start.

It does not know labels: a search that starts from it treats every labelling alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from notears_pfl.errors import InputError
from notears_pfl.evidence.contrast import connections_to_compare
from notears_pfl.evidence.moments import Array, Mask, SubjectMoments, subject_moments
from notears_pfl.model.estimator import NotearsPFL
from notears_pfl.model.orders import Networks

# An edge of one group alone, just above the threshold there, has about half that weight in both
# groups together.
POOLED_SHARE = 0.5


class Redraws(Protocol):
    """A fit from which networks of other subjects are searched."""

    def redraw(self, U: Array, n: Array) -> Networks:
        """Networks of moments (K, d, d), worth n samples (K,)."""
        ...


@dataclass(frozen=True)
class Pooled:
    """Moments of all subjects, who is a patient, (N,), and the pooled fit."""

    moments: SubjectMoments
    patients: Mask
    fit: NotearsPFL


def pooled_fit(
    samples: Sequence[npt.ArrayLike], subjects: Sequence[npt.ArrayLike],
    patients: Sequence[npt.ArrayLike], **estimator: Any,
) -> Pooled:  # fmt: skip
    """Fit all subjects of every site together; tables, subjects and labels have one row each."""
    shapes = [[len(np.asarray(x)) for x in part] for part in (samples, subjects, patients)]
    if not shapes[0] == shapes[1] == shapes[2]:
        msg = (
            "samples, subjects and patients need one row per sample of every site; found "
            f"{shapes[0]}, {shapes[1]} and {shapes[2]}. Pass one array per site."
        )
        raise InputError(msg)
    fit = NotearsPFL(**estimator).fit(samples, subjects=subjects)
    series, site, labels = [], [], []
    for k, (x, who, is_patient) in enumerate(zip(samples, subjects, patients, strict=True)):
        table, names = np.asarray(x, dtype=float), np.asarray(who)
        flags = np.asarray(is_patient, dtype=bool)
        _, first = np.unique(names, return_index=True)
        for name in names[np.sort(first)]:
            own = names == name
            if flags[own].any() != flags[own].all():
                msg = f"site {k}: subject {name} is both a patient and a control. Correct it."
                raise InputError(msg)
            series.append(table[own])
            site.append(k)
            labels.append(bool(flags[own][0]))
    moments = subject_moments(series, site, center=fit.center)
    return Pooled(moments, np.array(labels), fit)


def resumed(settings: Mapping[str, Any], orders: npt.ArrayLike, adjacency: Mask) -> NotearsPFL:
    """Return a fit that ended elsewhere, for draws: orders (K, d), edges (K, d, d)."""
    fit = NotearsPFL(**settings)
    fit.order_ = np.asarray(orders, dtype=np.intp)
    fit.adjacency_ = np.asarray(adjacency, dtype=bool)
    return fit


def compared_connections(fit: NotearsPFL, moments: SubjectMoments) -> Mask:
    """Choose the connections to test, (d, d): of all subjects, above half the threshold."""
    half = NotearsPFL(**{**fit.get_params(), "threshold": POOLED_SHARE * fit.threshold})
    half.order_, half.adjacency_ = fit.order_, fit.adjacency_
    found = half.redraw(*moments.summed(np.ones(len(moments.n))))
    return connections_to_compare(found.adjacency)
