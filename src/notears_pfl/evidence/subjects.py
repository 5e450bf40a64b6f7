"""The subjects of a study as arrays: moments, labels and halves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from notears_pfl.evidence.labels import blocks_of, check_labels
from notears_pfl.evidence.moments import Mask, SubjectMoments
from notears_pfl.evidence.permutation import Labels


@dataclass(frozen=True)
class Subjects:
    """Subjects of one half of a study, and who is a patient."""

    moments: SubjectMoments
    labels: Labels

    @property
    def patients(self) -> Mask:
        """Whether each subject is a patient, (N,)."""
        return self.labels.patients


def subject_arrays(
    moments: SubjectMoments, patients: Mask, discovery: Mask, strata: Any
) -> dict[str, Any]:
    """Arrays of all subjects, for a file; the opposite of :func:`subjects_from`."""
    return {
        "S": moments.S, "s": moments.s, "n": moments.n, "n_effective": moments.n_effective,
        "site": moments.site, "patients": np.asarray(patients, dtype=bool),
        "discovery": np.asarray(discovery, dtype=bool), "strata": np.asarray(strata, dtype=np.intp),
    }  # fmt: skip


def moments_from(arrays: Mapping[str, Any], keep: Mask) -> SubjectMoments:
    """Moments of some of a study's subjects, a mask of shape (N,)."""
    S, s, n, n_effective, site = (
        np.asarray(arrays[name])[keep] for name in ("S", "s", "n", "n_effective", "site")
    )
    return SubjectMoments(S, s, n, n_effective, site)


def subjects_from(arrays: Mapping[str, Any], *, discovery: bool) -> Subjects:
    """Return the discovery subjects of a study, or its validation subjects."""
    keep = np.asarray(arrays["discovery"]) == discovery
    moments = moments_from(arrays, keep)
    patients = np.asarray(arrays["patients"])[keep]
    blocks = blocks_of(moments.site, np.asarray(arrays["strata"])[keep])
    check_labels(patients, moments.site, blocks)
    return Subjects(moments, Labels(patients, blocks))
