"""Weights of a group's network in single subjects, for analyses of individual differences.

Every ROI of subject i is regressed on the parents that it has in the network of the subject's site
and group, in the subject's own samples:

    w_i = U_SS⁻¹ U_Sj,   se(w_ip)² = (U_jj − w_iᵀU_Sj) (U_SS⁻¹)_pp / (n_i − |S| − 1)

with U the subject's second moments, S the parents of ROI j, and n_i how many independent samples
the subject's volumes are worth. Edges and their directions are the site's: one scan is far too
short to search for them.
"""

from dataclasses import replace

import numpy as np

from notears_pfl.evidence.contrast import weights_given
from notears_pfl.evidence.moments import Array, Mask, SubjectMoments


def subject_weights(moments: SubjectMoments, edges: Mask) -> tuple[Array, Array]:
    """Weights of given edges in each of N subjects, and their standard errors.

    Parameters
    ----------
    moments : SubjectMoments
        Moments of the N subjects; their sites do not matter.
    edges : ndarray of bool, shape (d, d)
        Entry (i, j): whether ROI j is regressed on i.

    Returns
    -------
    Two ndarrays of shape (N, E), the edges in the order of ``edges.nonzero()``. NaN where a subject
    has no more independent samples than are needed for the parents and the mean.
    """
    n_subjects = len(moments.n)
    alone = replace(moments, site=np.arange(n_subjects))
    U, n = alone.summed(np.ones(n_subjects))
    weights, variances = (found[:, edges] for found in weights_given(U, edges))
    freedom = n[:, None] - edges.sum(axis=0)[edges.nonzero()[1]] - float(moments.center)
    enough = freedom > 0
    errors = np.sqrt(variances / np.where(enough, freedom, 1.0))
    return np.where(enough, weights, np.nan), np.where(enough, errors, np.nan)
