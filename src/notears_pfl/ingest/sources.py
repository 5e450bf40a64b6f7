"""Enrol a user's subjects, whatever the source of the data."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from notears_pfl.errors import ConfigError
from notears_pfl.ingest.datasets import enrol_datasets, find_normalised_scan, find_raw_scan
from notears_pfl.ingest.enrolment import Enrolment
from notears_pfl.ingest.srpbs_release import enrol_release
from notears_pfl.io.study import band_problems


def enrol_source(
    config: Mapping[str, Any], sites: pd.DataFrame, groups: tuple[str, str], name: str
) -> Enrolment:
    """Enrol the subjects of the data that ``source`` in ``config`` (files ``name``) asks for.

    A pass band that a site's repetition time cannot carry is refused here: only now is it known.
    """
    source, needs_slice_times = config["source"], config["preproc"]["slice_timing"]
    match source["kind"]:
        case "srpbs":
            enrolment = enrol_release(source, sites, config["sites"], groups)
        case "fmriprep":
            enrolment = enrol_datasets(source, groups, False, find_normalised_scan)
        case _:
            enrolment = enrol_datasets(source, groups, needs_slice_times, find_raw_scan)
    site_of = enrolment.enrolled.set_index("participant_id")["site"]
    times = {site_of[who]: scan.repetition_time for who, scan in enrolment.scans.items()}
    band = config["preproc"]["clean"]["band_hz"]
    found = list(band_problems("preproc.clean.band_hz", band, times, "its protocol", name))
    if found:
        raise ConfigError("\n".join(found))
    return enrolment
