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


def moments_from(arrays: Mapping[str, Any], keep: Mask) -> SubjectMoments:
    """Moments of some of a study's subjects, a mask of shape (N,); their S stays where it is."""
    s, n, n_effective, site = (
        np.asarray(arrays[name])[keep] for name in ("s", "n", "n_effective", "site")
    )
    return SubjectMoments(arrays["S"], s, n, n_effective, site, np.flatnonzero(keep))


def subjects_from(arrays: Mapping[str, Any], *, discovery: bool) -> Subjects:
    """Return the discovery subjects of a study, or its validation subjects."""
    keep = np.asarray(arrays["discovery"]) == discovery
    moments = moments_from(arrays, keep)
    patients = np.asarray(arrays["patients"])[keep]
    blocks = blocks_of(moments.site, np.asarray(arrays["strata"])[keep])
    check_labels(patients, moments.site, blocks)
    return Subjects(moments, Labels(patients, blocks))
