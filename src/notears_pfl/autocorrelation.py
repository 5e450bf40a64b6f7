"""How many independent samples an autocorrelated series is worth."""

import numpy as np


def effective_sample_size(x: np.ndarray) -> float:
    """Bartlett's n / Σ_τ r_τ², with r the autocorrelation shared by the ROIs.

    ``x`` of shape (n, d) is centred. This many independent samples would estimate the correlation
    of two such series as precisely. By Parseval's theorem it is 1 / Σ_f p_f², with p the share of
    the variance at each frequency, averaged over ROIs. Chance makes a single periodogram uneven,
    which looks like autocorrelation: in the average over d ROIs with correlations c, it raises
    Σ_f p_f² by the factor 1 + mean c², which is divided out. No series counts more than n.
    """
    power = np.abs(np.fft.fft(x, axis=0)) ** 2
    total = power.sum(axis=0)
    if not total.all():
        # ROIs without variance say nothing; one centred sample has no variance at all.
        return effective_sample_size(x[:, total > 0]) if total.any() else 1.0
    p = (power / total).mean(axis=1)
    # Parseval again: the sums of squares of x are those of its spectrum, divided by n.
    size = np.sqrt(total / len(x))
    chance = 1 + np.mean((x.T @ x / np.outer(size, size)) ** 2)
    return float(min(chance / np.sum(p**2), len(x)))
