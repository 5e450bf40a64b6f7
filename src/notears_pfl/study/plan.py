"""The plan of a study: everything the rules need to know, worked out before any job starts."""

import hashlib
import pickle
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pprint import pformat
from typing import Any, Literal

import pandas as pd

from notears_pfl.cohort.covariates import QUALITY, check_known
from notears_pfl.errors import CohortError
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.fingerprint import code_fingerprint
from notears_pfl.phantom.cohort import PARTICIPANTS_SIDECAR
from notears_pfl.study.atlas import Atlas, read_atlas
from notears_pfl.study.configuration import StudyTables, read_tables
from notears_pfl.study.participants import NO_SITE
from notears_pfl.study.sources import Source, Wildcards, read_source

# What the process that starts jobs has found of the subjects, for these jobs.
RECORD = Path(".snakemake/study_source.pickle")
# Columns of the sites table that only the phantom uses: numbers of subjects to generate.
PHANTOM_COUNTS = ["phantom_patients", "phantom_controls"]
# Subjects of a job in a study of up to so many: a plan of few hundred batches takes seconds. Few
# steps, so that a study that grows is seldom divided anew.
AUTOMATIC = {5_000: 10, 10_000: 20, sys.maxsize: 40}
# Ready ROI series take so little work that a job does this many times as many subjects.
SERIES_PER_JOB = 20


@dataclass(frozen=True)
class Plan:
    """A study as the rules see it.

    Methods that take ``wildcards`` are input functions and parameters of Snakemake rules; those
    that take a ``subject``, without ``sub-``, give its files.
    """

    tables: StudyTables
    source: Source
    atlas: Atlas
    subjects_per_job: int | Literal["auto"]

    @property
    def kind(self) -> str:
        """``source.kind`` of the configuration."""
        return self.source.kind

    @property
    def groups(self) -> list[str]:
        """Patients and controls."""
        return list(self.tables.groups)

    @property
    def sites(self) -> list[str]:
        """The sites that have both groups; only these get networks."""
        return self.source.sites

    @property
    def group_sites(self) -> list[tuple[str, str]]:
        """Every pair of group and site, in the order in which networks are listed."""
        return [(group, site) for group in self.groups for site in self.sites]

    @cached_property
    def participants(self) -> list[str]:
        """All subjects that are processed, as ``sub-…``."""
        return self.source.participants["participant_id"].tolist()

    @cached_property
    def subjects(self) -> list[str]:
        """All subjects that are processed, without ``sub-``: the wildcard ``subject``."""
        return [name.removeprefix("sub-") for name in self.participants]

    @cached_property
    def processed_sites(self) -> list[str]:
        """The sites of all processed subjects, with or without both groups."""
        return self.source.participants["site"].unique().tolist()

    @property
    def has_motion(self) -> bool:
        """Whether the subjects' head motion is known."""
        return self.source.knows_motion

    @property
    def clean_series(self) -> str:
        """Path pattern of the tables of clean ROI series."""
        return f"results/timeseries/sub-{{subject}}_seg-{self.atlas.name}_desc-clean_timeseries.tsv"

    @property
    def clean_report(self) -> str:
        """Path pattern of the reports beside the clean series: quality, methods, any failure."""
        return self.clean_series.replace(".tsv", ".json")

    def protocol(self, wildcards: Wildcards) -> Mapping[str, Any]:
        """Protocol of a site: its row in the sites table, without phantom counts."""
        return self._protocols[wildcards.site]

    def true_network(self, subject: str) -> str:
        """Path of the true network of a phantom subject, that of its group and site."""
        site, group = self._sites_and_groups[subject]
        return f"results/phantom/truth/group-{group}_site-{site}_relmat.tsv"

    @cached_property
    def batches(self) -> dict[tuple[str, str], list[str]]:
        """Subjects of each batch by site and number: those that one job works on."""
        n, by_site = self._batch_size, dict[str, list[str]]()
        for subject, (site, _) in self._sites_and_groups.items():
            by_site.setdefault(site, []).append(subject)
        return {
            (site, str(start // n + 1)): subjects[start : start + n]
            for site, subjects in by_site.items()
            for start in range(0, len(subjects), n)
        }

    @property
    def _batch_size(self) -> int:
        """Largest number of subjects in a batch."""
        n = (
            next(size for most, size in AUTOMATIC.items() if len(self.subjects) <= most)
            if self.subjects_per_job == "auto"
            else self.subjects_per_job
        )
        return n if self.source.has_images else n * SERIES_PER_JOB

    def batch_of(self, subject: str) -> tuple[str, str]:
        """Site and number of the batch that a subject is in."""
        return self._batch_of[subject]

    @cached_property
    def _batch_of(self) -> dict[str, tuple[str, str]]:
        return {who: batch for batch, subjects in self.batches.items() for who in subjects}

    def runs_of(self, subject: str) -> list[str]:
        """List the runs of a subject, as keys of ``source.runs``."""
        return self._runs_of[subject]

    @cached_property
    def _runs_of(self) -> dict[str, list[str]]:
        runs: dict[str, list[str]] = {}
        for run, (subject, _) in self.source.runs.items():
            runs.setdefault(subject, []).append(run)
        return runs

    def subjects_at(self, site: str) -> list[str]:
        """Subjects at a site, without ``sub-``, in the order of the participants table."""
        return [name for name, (own, _) in self._sites_and_groups.items() if own == site]

    # Every job looks these up; plain dictionaries are a hundred times faster than tables.
    @cached_property
    def _sites_and_groups(self) -> dict[str, tuple[str, str]]:
        table = self.source.participants
        pairs = zip(table["site"], table["group"], strict=True)
        return dict(zip(self.subjects, pairs, strict=True))

    @cached_property
    def _protocols(self) -> dict[str, dict[str, Any]]:
        rows = self.tables.sites.drop(columns=PHANTOM_COUNTS).to_dict("records")
        return {row["site"]: {str(key): value for key, value in row.items()} for row in rows}


@dataclass(frozen=True)
class SourceRecord:
    """A file in which the process that starts jobs keeps the source of a study for these jobs.

    It holds for the configuration, code and libraries that it was written with. Tables and datasets
    that have changed since are not looked at: a run sees one state of them.
    """

    path: Path
    config: Mapping[str, Any]

    def write(self, source: Source) -> None:
        """Keep the source."""
        with whole_file(self.path) as temporary:
            temporary.write_bytes(self._key + pickle.dumps(source))

    def read(self) -> Source | None:
        """Give the source that was kept; None if there is none for this configuration."""
        if not self.path.is_file():
            return None
        content = self.path.read_bytes()
        if not content.startswith(self._key):
            return None
        source: Source = pickle.loads(content[len(self._key) :])
        return source

    @cached_property
    def _key(self) -> bytes:
        # In one order, also where some keys of a mapping are numbers.
        text = pformat([self.config, sys.version, pd.__version__])
        code = code_fingerprint(__file__, Path(__file__).parents[2])
        return hashlib.sha256(f"{code}{text}".encode()).digest()


def plan_study(
    config: Mapping[str, Any], schemas: str | Path, name: str, record: Path | None, is_main: bool,
    needs_networks: bool = True,
) -> Plan:  # fmt: skip
    """Check the configuration of a study and plan it.

    Parameters
    ----------
    config : mapping
        The settings, as merged by Snakemake.
    schemas : path
        Folder with the schemas of the configuration and its tables.
    name : str
        Name of the configuration in error messages: its files.
    record : path or None
        File for what was found of the subjects. Jobs on a cluster plan the study again: from this
        file, as the process that started them did, and at no cost that grows with the study. None
        where no job will be started, as the record may be that of a run under way.
    is_main : bool
        Whether this process is no job, and so reads the subjects and writes the record.
    needs_networks : bool
        Whether networks are to be estimated; if not, one group is enough.
    """
    tables = read_tables(config, schemas, name)
    kept = None if record is None else SourceRecord(record, config)
    found = None if is_main or kept is None else kept.read()
    source = found or read_source(config, tables, name)
    if is_main and kept is not None:
        kept.write(source)
    if needs_networks and not source.sites:
        raise CohortError(next(line for line in source.notices if NO_SITE in line))
    drawn = PARTICIPANTS_SIDECAR if source.kind == "phantom" else ()
    # The user's own tables: results, which list enrolled subjects, are not there before a run.
    enrolment = getattr(source, "enrolment", None)
    told_by = ", ".join(enrolment.tables if enrolment else []) or source.participants_table
    known_columns = dict.fromkeys([*source.participants.columns, *drawn, *QUALITY])
    known_columns.pop("not_enrolled", None)
    check_known(config["cohort"]["match"], list(known_columns), told_by)
    for setting in ("regress_on", "regress_covariates"):
        named = config["analysis"].get(setting, [])
        where = (list(known_columns), told_by, f"analysis.{setting}")
        check_known(named, *where)
    atlas = read_atlas(config["rois"], source.kind, tables.rois)
    return Plan(tables, source, atlas, config["subjects_per_job"])
