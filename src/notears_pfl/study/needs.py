"""Memory and time to ask a cluster for, of jobs whose needs grow with the study."""

from typing import NamedTuple


class Need(NamedTuple):
    """What a job may take at most."""

    megabytes: int
    minutes: int


def need_of_draws(n_sites: int, n_rois: int, largest_site: int) -> Need:
    """Give the need of a job of 50 draws of the evidence.

    With 50 sites and 400 ROIs it took 3.5 CPU hours and had 4.4 GiB, the memory of a fit; twice
    that time is asked for. Beside the fit come the moments of the largest site, twice.
    """
    searched = n_sites * n_rois**2
    moments_mb = largest_site * n_rois**2 * 8e-6
    return Need(int(1000 + 6e-4 * searched + moments_mb), int(20 + 5e-5 * searched))


def need_of_federation(n_sites: int) -> Need:
    """Give the need of fits in NVFLARE's simulator: a process per site, 0.3 GiB with 56 ROIs."""
    return Need(1000 + 400 * n_sites, 120)
