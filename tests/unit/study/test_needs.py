"""What jobs of large studies ask a cluster for."""

import pytest

from notears_pfl.study.needs import need_of_draws, need_of_federation, need_of_fit


@pytest.mark.parametrize(
    ("n_sites", "n_rois", "largest_site", "asked"),
    [(5, 56, 1, (1009, 20)), (50, 400, 200, (6056, 420))],
)
def test_memory_and_time_of_draws_grow_with_sites_and_the_square_of_regions(
    n_sites, n_rois, largest_site, asked
):
    assert need_of_draws(n_sites, n_rois, largest_site) == asked


@pytest.mark.parametrize(
    ("n_sites", "n_rois", "n_subjects", "megabytes"),
    [(5, 56, 713, 1169), (50, 400, 10_000, 21_800)],
)
def test_a_fit_holds_the_series_of_its_subjects_and_matrices_of_its_sites(
    n_sites, n_rois, n_subjects, megabytes
):
    assert need_of_fit(n_sites, n_rois, n_subjects).megabytes == megabytes


def test_every_site_of_a_federation_is_a_process_more():
    assert need_of_federation(50).megabytes - need_of_federation(49).megabytes == 400
