"""Where the data of a study come from: one class per kind of source, all asked the same questions.

source.kind    they have                           what they enter at
phantom        nothing                             ingestion (the cohort is generated as BIDS)
bids           raw BIDS, one dataset or one a site preprocessing
srpbs          the SRPBS release on disk           ingestion (converted to BIDS)
fmriprep       fMRIPrep's derivatives              ROI extraction
timeseries     tables of ROI series                the cohort
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from notears_pfl.errors import ConfigError
from notears_pfl.phantom.cohort import list_subjects
from notears_pfl.study.bids import enrol_datasets, find_normalised_scan, find_raw_scan
from notears_pfl.study.configuration import StudyTables, band_problems
from notears_pfl.study.enrolment import Enrolment
from notears_pfl.study.participants import sites_with_both_groups
from notears_pfl.study.scans import Scan
from notears_pfl.study.srpbs import enrol_release
from notears_pfl.study.timeseries import SeriesStudy, read_series_study

Config = Mapping[str, Any]
# Snakemake's, of a rule that works on one subject.
Wildcards = Any
SITE_AND_GROUP = {"site_column": "site", "group_column": "group"}


@dataclass(frozen=True)
class Source:
    """The subjects of a study and the files of each.

    Methods that take ``wildcards`` are input functions of Snakemake's rules.

    Parameters
    ----------
    participants : DataFrame
        Those who are processed: ``participant_id``, ``site``, ``group`` and anything else.
    sites : list of str
        The sites that have both groups.
    notices : list of str
        What the user should know before the work begins.
    participants_table : str
        Where all participants are listed.
    columns : mapping
        The columns of that table with the site and the group.
    """

    participants: pd.DataFrame
    sites: list[str]
    notices: list[str]
    participants_table: str
    columns: Mapping[str, str]

    kind: ClassVar[str]
    # Whether ROI series come from images here, T1w images are processed here, and raw BIDS is made.
    has_images: ClassVar[bool] = True
    has_anatomy: ClassVar[bool] = True
    makes_bids: ClassVar[bool] = False

    def t1w(self, wildcards: Wildcards) -> str:
        """Raw T1w image of a subject: as it is made here, unless the source has it."""
        name = f"sub-{wildcards.subject}"
        return f"results/bids/{name}/anat/{name}_T1w.nii.gz"

    def bold(self, wildcards: Wildcards) -> str:
        """BOLD run of a subject: as it is made here, unless the source has it."""
        name = f"sub-{wildcards.subject}"
        return f"results/bids/{name}/func/{name}_task-rest_bold.nii.gz"

    def sidecars(self, wildcards: Wildcards) -> list[str]:
        """Sidecars of the BOLD run, general to specific: later ones override earlier ones."""
        name = f"sub-{wildcards.subject}"
        return [f"results/bids/{name}/func/{name}_task-rest_bold.json"]


@dataclass(frozen=True)
class Phantom(Source):
    """The built-in cohort with known networks."""

    kind: ClassVar[str] = "phantom"
    makes_bids: ClassVar[bool] = True

    @classmethod
    def read(cls, config: Config, tables: StudyTables, name: str) -> "Phantom":
        """List the subjects that the sites table asks for."""
        table = "results/bids/participants.tsv"
        subjects = list_subjects(tables.sites, tables.groups)
        sites, notices = sites_with_both_groups(subjects, tables.groups, table)
        return cls(subjects, sites, notices, table, _columns(config))


@dataclass(frozen=True)
class Series(Source):
    """Ready ROI series."""

    series: SeriesStudy

    kind: ClassVar[str] = "timeseries"
    has_images: ClassVar[bool] = False
    has_anatomy: ClassVar[bool] = False

    @classmethod
    def read(cls, config: Config, tables: StudyTables, name: str) -> "Series":
        """Read the participants and find their series."""
        series, table = read_series_study(config["source"]), config["source"]["participants"]
        sites, notices = sites_with_both_groups(series.participants, tables.groups, table)
        notices = [*notices, *series.notices]
        return cls(series.participants, sites, notices, table, _columns(config), series)

    def pattern(self, wildcards: Wildcards) -> str:
        """Pattern of the series' files; as plain text its braces would be taken for wildcards."""
        return self.series.pattern


@dataclass(frozen=True)
class Enrolled(Source):
    """Images of a user's own, of subjects that are enrolled or named with what is wrong."""

    enrolment: Enrolment

    @classmethod
    def read(cls, config: Config, tables: StudyTables, name: str) -> "Enrolled":
        """Enrol the subjects, and check the pass band against their repetition times.

        Only now are these known.
        """
        enrolment = cls.enrol(config, tables)
        site_of = enrolment.enrolled.set_index("participant_id")["site"]
        times = {site_of[who]: scan.repetition_time for who, scan in enrolment.scans.items()}
        band = config["preproc"]["clean"]["band_hz"]
        found = list(band_problems("preproc.clean.band_hz", band, times, "its protocol", name))
        if found:
            raise ConfigError("\n".join(found))
        table = "results/ingest/participants.tsv"
        return cls(
            enrolment.enrolled, enrolment.sites, enrolment.notices, table, SITE_AND_GROUP, enrolment
        )

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables) -> Enrolment:
        """Find the subjects and their scans."""
        raise NotImplementedError

    def scan(self, wildcards: Wildcards) -> Scan:
        """Files of a subject where the source has them."""
        return self.enrolment.scans[f"sub-{wildcards.subject}"]


@dataclass(frozen=True)
class RawBids(Enrolled):
    """Raw BIDS: one dataset, or one per site."""

    kind: ClassVar[str] = "bids"

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables) -> Enrolment:
        """Find the subjects of the datasets and their raw scans."""
        needs_slice_times = config["preproc"]["slice_timing"]
        return enrol_datasets(config["source"], tables.groups, needs_slice_times, find_raw_scan)

    def t1w(self, wildcards: Wildcards) -> str:
        """T1w image where the dataset has it."""
        return str(self.scan(wildcards).t1w)

    def bold(self, wildcards: Wildcards) -> str:
        """Run where the dataset has it."""
        return self.scan(wildcards).bold

    def sidecars(self, wildcards: Wildcards) -> list[str]:
        """Sidecars of the run, from the dataset's root to the run's folder."""
        return list(self.scan(wildcards).sidecars)


@dataclass(frozen=True)
class FMRIPrep(RawBids):
    """fMRIPrep's derivatives: runs in MNI space with their confounds."""

    kind: ClassVar[str] = "fmriprep"
    has_anatomy: ClassVar[bool] = False

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables) -> Enrolment:
        """Find the subjects of the derivatives and their runs in MNI space."""
        return enrol_datasets(config["source"], tables.groups, False, find_normalised_scan)

    def confounds(self, wildcards: Wildcards) -> str:
        """Table of confounds beside the run."""
        return str(self.scan(wildcards).confounds)


@dataclass(frozen=True)
class SrpbsRelease(Enrolled):
    """The SRPBS release as it is on disk, converted to BIDS here."""

    kind: ClassVar[str] = "srpbs"
    makes_bids: ClassVar[bool] = True

    @classmethod
    def enrol(cls, config: Config, tables: StudyTables) -> Enrolment:
        """Find the subjects of the release at the sites of the sites table."""
        return enrol_release(config["source"], tables.sites, config["sites"], tables.groups)

    def released_t1w(self, wildcards: Wildcards) -> str:
        """T1w image of a subject in the release."""
        return str(self.scan(wildcards).t1w)

    def released_volumes(self, wildcards: Wildcards) -> str:
        """Folder of the release with the volumes of a subject's run."""
        return self.scan(wildcards).bold

    def released_protocol(self, wildcards: Wildcards) -> Mapping[str, float]:
        """Fields of a subject's run in the release's table of protocols."""
        return self.scan(wildcards).metadata


SOURCES: dict[str, type[Phantom | Series | Enrolled]] = {
    source.kind: source for source in (Phantom, RawBids, SrpbsRelease, FMRIPrep, Series)
}


def read_source(config: Config, tables: StudyTables, name: str) -> Source:
    """Read the source that ``source.kind`` of the configuration, files ``name``, asks for."""
    return SOURCES[config["source"]["kind"]].read(config, tables, name)


def _columns(config: Config) -> dict[str, str]:
    return {column: config["source"][column] for column in SITE_AND_GROUP}
