"""Memory and time to ask a cluster for, of jobs whose needs grow with the study."""

from typing import NamedTuple


class Need(NamedTuple):
    """What a job may take at most."""

    megabytes: int
    minutes: int


# Megabytes of a fit per entry of the sites' matrices: 4.4 GiB with 50 sites and 400 ROIs.
PER_ENTRY_MB = 6e-4
# Of the series of a subject, which a fit holds: volumes at most, by bytes of a number.
PER_ROI_MB = 500 * 8e-6


def need_of_fit(n_sites: int, n_rois: int, n_subjects: int) -> Need:
    """Give the need of a fit: 11 CPU minutes with 50 sites and 400 ROIs."""
    series_mb = n_subjects * n_rois * PER_ROI_MB
    return Need(int(1000 + PER_ENTRY_MB * n_sites * n_rois**2 + series_mb), 60)


def need_of_draws(n_sites: int, n_rois: int, largest_site: int) -> Need:
    """Give the need of a job of 50 draws of the evidence.

    With 50 sites and 400 ROIs it took 3.5 CPU hours and the memory of a fit; twice that time is
    asked for. Beside the fit come the moments of the largest site, twice.
    """
    searched = n_sites * n_rois**2
    moments_mb = largest_site * n_rois**2 * 8e-6
    return Need(int(1000 + PER_ENTRY_MB * searched + moments_mb), int(20 + 5e-5 * searched))


def need_of_federation(n_sites: int) -> Need:
    """Give the need of fits in NVFLARE's simulator: a process per site, 0.3 GiB with 56 ROIs."""
    return Need(1000 + 400 * n_sites, 120)
