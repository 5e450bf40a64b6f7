"""A small study of two groups at three sites, with connections that one group alone has."""

from dataclasses import dataclass

import numpy as np
import pytest

D, SITES, VOLUMES = 8, 3, 60
# Edges of both groups, of patients alone and of controls alone.
SHARED = ((0, 1), (1, 2), (3, 4))
PATIENTS_ONLY, CONTROLS_ONLY = ((5, 6),), ((2, 7),)


@dataclass(frozen=True)
class Study:
    """Series by subject, and the same stacked by site as users of arrays pass them."""

    series: list[np.ndarray]
    site: np.ndarray
    patients: np.ndarray

    def stacked(self, values):
        """One array per site, with one row per volume of every subject."""
        per_subject = [
            np.repeat([v], len(x), axis=0) for v, x in zip(values, self.series, strict=True)
        ]
        return [
            np.concatenate([v for v, k in zip(per_subject, self.site, strict=True) if k == site])
            for site in range(SITES)
        ]

    @property
    def samples(self):
        """Samples of every site."""
        return [
            np.concatenate([x for x, k in zip(self.series, self.site, strict=True) if k == site])
            for site in range(SITES)
        ]

    @property
    def subjects(self):
        """Whose sample each row is."""
        return self.stacked(np.arange(len(self.series)))

    @property
    def labels(self):
        """Whether each row is a patient's."""
        return self.stacked(self.patients)


def simulate(seed, n_patients=8, n_controls=8, *, differ=True):
    rng = np.random.default_rng(seed)
    series, site, patients = [], [], []
    for k in range(SITES):
        for is_patient in [True] * n_patients + [False] * n_controls:
            W = np.zeros((D, D))
            own = PATIENTS_ONLY if is_patient or not differ else CONTROLS_ONLY
            for i, j in (*SHARED, *own):
                W[i, j] = 0.7
            noise = rng.standard_normal((VOLUMES, D))
            series.append(noise @ np.linalg.inv(np.eye(D) - W))
            site.append(k)
            patients.append(is_patient)
    return Study(series, np.array(site), np.array(patients))


@pytest.fixture(scope="session")
def study():
    return simulate(1)
