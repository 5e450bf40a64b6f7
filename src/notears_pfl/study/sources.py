"""The data sources of a study: one class per ``source.kind``, all with the same interface.

source.kind    data                                    the workflow starts at
phantom        none                                    ingestion (generates the cohort as BIDS)
bids           raw BIDS, one dataset or one per site   preprocessing
srpbs          the SRPBS release on disk               ingestion (converts it to BIDS)
fmriprep       fMRIPrep derivatives                    ROI extraction
timeseries     tables of ROI series                    the cohort
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pandas as pd

from notears_pfl.errors import ConfigError
from notears_pfl.phantom.cohort import list_subjects
from notears_pfl.study.bids import enrol_datasets, find_normalised_scan, find_raw_scan
from notears_pfl.study.configuration import StudyTables, band_problems
from notears_pfl.study.enrolment import Enrolment
from notears_pfl.study.headers import HeaderChecks
from notears_pfl.study.participants import sites_with_both_groups
from notears_pfl.study.scans import Scan
from notears_pfl.study.srpbs import enrol_release
from notears_pfl.study.timeseries import SeriesStudy, read_series_study

Config = Mapping[str, Any]
# Snakemake's wildcards.
Wildcards = Any
SITE_AND_GROUP = {"site_column": "site", "group_column": "group"}
# The table that the workflow writes of subjects that it enrols.
ENROLMENT = "results/ingest/participants.tsv"


@dataclass(frozen=True)
class Source:
    """The subjects of a study and their files.

    Methods that take a ``subject``, without ``sub-``, give its files; those that take a ``run``,
    a key of ``runs``, the files of a run.

    Parameters
    ----------
    participants : DataFrame
        The participants that are processed: ``participant_id``, ``site``, ``group`` and all other
        columns.
    sites : list of str
        The sites that have both groups.
    notices : list of str
        Messages to show to the user before the first job starts.
    participants_table : str
        The table that lists all participants.
    columns : mapping
        The site and group columns of that table.
    """

    participants: pd.DataFrame
    sites: list[str]
    notices: list[str]
    participants_table: str
    columns: Mapping[str, str]

    kind: ClassVar[str]
    # Whether the workflow enrols subjects, extracts series from images, and processes T1w images
    # (if not, runs are in MNI space and have a table of confounds).
    is_enrolled: ClassVar[bool] = False
    has_images: ClassVar[bool] = True
    has_anatomy: ClassVar[bool] = True
    # The rule that writes raw BIDS, if the workflow does.
    bids_maker: ClassVar[str] = ""

    @property
    def makes_bids(self) -> bool:
        """Whether the workflow writes raw BIDS."""
        return bool(self.bids_maker)

    @cached_property
    def runs(self) -> dict[str, tuple[str, str]]:
        """Subject and name of each run: by the subject, or both if it has several."""
        subjects = [who.removeprefix("sub-") for who in self.participants["participant_id"]]
        return {
            subject if len(names) == 1 else f"{subject}_{name}": (subject, name)
            for subject in subjects
            for names in [self.run_names(subject)]
            for name in names
        }

    @property
    def run_pattern(self) -> str:
        """Regular expression of the runs' names, which may hold a ``+``."""
        return "|".join(sorted({re.escape(name) for _, name in self.runs.values()}))

    def run_names(self, subject: str) -> list[str]:
        """Names of a subject's runs, such as ``task-rest_run-1``."""
        return ["task-rest"]

    def lost_runs(self, subject: str) -> Mapping[str, str]:
        """Why runs of a subject cannot be used that others stand in for, by name."""
        return {}

    @property
    def knows_motion(self) -> bool:
        """Whether the subjects' head motion is known."""
        return self.has_images or "mean_fd_mm" in self.participants

    def t1w(self, subject: str) -> str:
        """Raw T1w image of a subject, in the BIDS dataset that the workflow writes."""
        name = f"sub-{subject}"
        return f"results/bids/{name}/anat/{name}_T1w.nii.gz"

    def bold(self, run: str) -> str:
        """BOLD image of a run, in the BIDS dataset that the workflow writes."""
        name = f"sub-{run}"
        return f"results/bids/{name}/func/{name}_task-rest_bold.nii.gz"

    def sidecars(self, run: str) -> list[str]:
        """Sidecars of a run, general to specific; later files override earlier ones."""
        name = f"sub-{run}"
        return [f"results/bids/{name}/func/{name}_task-rest_bold.json"]


@dataclass(frozen=True)
class Phantom(Source):
    """The built-in cohort with known networks."""

    kind: ClassVar[str] = "phantom"
    bids_maker: ClassVar[str] = "phantom_subject"

    @classmethod
    def read(cls, config: Config, tables: StudyTables, name: str) -> "Phantom":
        """List the phantom subjects that the sites table specifies."""
        table = "results/bids/participants.tsv"
        subjects = list_subjects(tables.sites, tables.groups)
        sites, notices = sites_with_both_groups(subjects, tables.groups, table)
        return cls(subjects, sites, notices, table, _columns(config))


@dataclass(frozen=True)
class RoiSeries(Source):
    """ROI series that the user has already extracted."""

    series: SeriesStudy

    kind: ClassVar[str] = "timeseries"
    has_images: ClassVar[bool] = False
    has_anatomy: ClassVar[bool] = False

    @classmethod
    def read(cls, config: Config, tables: StudyTables, name: str) -> "RoiSeries":
        """Read the participants and find their series."""
        series = read_series_study(config["source"], tables.groups)
        if series.enrolment is not None:
            return EnrolledSeries(
                series.participants, series.enrolment.sites, series.notices, ENROLMENT,
                SITE_AND_GROUP, series,
            )  # fmt: skip
        table = config["source"]["participants"]
        sites, notices = sites_with_both_groups(series.participants, tables.groups, table)
        notices = [*notices, *series.notices]
        return cls(series.participants, sites, notices, table, _columns(config), series)

    @property
    def knows_motion(self) -> bool:
        """Whether the subjects' head motion is known."""
        return self.series.knows_motion or super().knows_motion


@dataclass(frozen=True)
class EnrolledSeries(RoiSeries):
    """ROI series of subjects that are enrolled, or listed with their problems."""

    is_enrolled: ClassVar[bool] = True

    @property
    def enrolment(self) -> Enrolment:
        """The participants, and why some are not processed."""
        assert self.series.enrolment is not None
        return self.series.enrolment


@dataclass(frozen=True)
class Enrolled(Source):
    """The user's own images: every subject is enrolled, or listed with its problems."""

    enrolment: Enrolment

    is_enrolled: ClassVar[bool] = True

    @classmethod
    def read(cls, config: Config, tables: StudyTables, name: str) -> "Enrolled":
        """Enrol the subjects, then check the pass band against their repetition times."""
        preproc = config["preproc"]
        headers = HeaderChecks(preproc["drop_volumes"], preproc["slice_timing"] and cls.has_anatomy)
        enrolment = cls.enrol(config, tables, headers)
        site_of = enrolment.enrolled.set_index("participant_id")["site"]
        times = {site_of[who]: runs[0].repetition_time for who, runs in enrolment.scans.items()}
        band = preproc["clean"]["band_hz"]
        found = list(band_problems("preproc.clean.band_hz", band, times, "its protocol", name))
        if found:
            raise ConfigError("\n".join(found))
        return cls(
            enrolment.enrolled, enrolment.sites, enrolment.notices, ENROLMENT, SITE_AND_GROUP,
            enrolment,
        )  # fmt: skip

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables, headers: HeaderChecks) -> Enrolment:
        """Find the subjects and their scans."""
        raise NotImplementedError

    def run_names(self, subject: str) -> list[str]:
        """Names of a subject's runs, as their files have them."""
        return [scan.run for scan in self.enrolment.scans[f"sub-{subject}"]]

    def lost_runs(self, subject: str) -> Mapping[str, str]:
        """Why runs of a subject cannot be used that others stand in for, by name."""
        return self.enrolment.lost.get(f"sub-{subject}", {})

    def scan(self, run: str) -> Scan:
        """Scan of a run in the source."""
        return self._scans[run]

    @cached_property
    def _scans(self) -> dict[str, Scan]:
        found = self.enrolment.scans
        return {
            run: next(scan for scan in found[f"sub-{subject}"] if scan.run == name)
            for run, (subject, name) in self.runs.items()
        }


@dataclass(frozen=True)
class RawBids(Enrolled):
    """Raw BIDS: one dataset, or one per site."""

    kind: ClassVar[str] = "bids"

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables, headers: HeaderChecks) -> Enrolment:
        """Find the subjects of the datasets and their raw scans."""
        return enrol_datasets(config["source"], tables.groups, headers, find_raw_scan)

    def t1w(self, subject: str) -> str:
        """T1w image of a subject in the dataset."""
        return str(self.enrolment.scans[f"sub-{subject}"][0].t1w)

    def bold(self, run: str) -> str:
        """BOLD image of a run in the dataset."""
        return self.scan(run).bold

    def sidecars(self, run: str) -> list[str]:
        """Sidecars of a run, from the dataset's root to the run's folder."""
        return list(self.scan(run).sidecars)


@dataclass(frozen=True)
class FMRIPrep(RawBids):
    """fMRIPrep derivatives: runs in MNI space with their confounds."""

    kind: ClassVar[str] = "fmriprep"
    has_anatomy: ClassVar[bool] = False

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables, headers: HeaderChecks) -> Enrolment:
        """Find the subjects of the derivatives and their runs in MNI space."""
        return enrol_datasets(config["source"], tables.groups, headers, find_normalised_scan)

    def confounds(self, run: str) -> str:
        """Table of confounds beside a run."""
        return str(self.scan(run).confounds)

    def confounds_json(self, run: str) -> list[str]:
        """Sidecar that describes the columns of that table, if it is there."""
        described = self.scan(run).confounds_json
        return [described] if described else []


@dataclass(frozen=True)
class SrpbsRelease(Enrolled):
    """The SRPBS release as it is on disk, converted to BIDS here."""

    kind: ClassVar[str] = "srpbs"
    bids_maker: ClassVar[str] = "srpbs_subject"

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables, headers: HeaderChecks) -> Enrolment:
        """Find the subjects of the release whose site is in the sites table."""
        return enrol_release(
            config["source"], tables.sites, config["sites"], tables.groups, headers
        )

    def released_t1w(self, subject: str) -> str:
        """T1w image of a subject in the release."""
        return str(self.scan(subject).t1w)

    def released_volumes(self, subject: str) -> str:
        """Folder of a subject's BOLD volumes in the release."""
        return self.scan(subject).bold

    def released_protocol(self, subject: str) -> Mapping[str, float]:
        """Sidecar fields of a subject's run, from the release's table of protocols."""
        return self.scan(subject).metadata


SOURCES: dict[str, type[Phantom | RoiSeries | Enrolled]] = {
    source.kind: source for source in (Phantom, RawBids, SrpbsRelease, FMRIPrep, RoiSeries)
}


def read_source(config: Config, tables: StudyTables, name: str) -> Source:
    """Read the source that ``source.kind`` selects; ``name`` lists the configuration files."""
    return SOURCES[config["source"]["kind"]].read(config, tables, name)


def _columns(config: Config) -> dict[str, str]:
    return {column: config["source"][column] for column in SITE_AND_GROUP}
