"""The plan of a study: all that the rules ask, worked out before any job starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.study.configuration import StudyTables, read_tables
from notears_pfl.study.sources import Source, Wildcards, read_source

# Columns of the sites table that are for the phantom alone: how many to generate.
PHANTOM_COUNTS = ["phantom_patients", "phantom_controls"]


@dataclass(frozen=True)
class Atlas:
    """The regions of a study.

    Parameters
    ----------
    origin : str
        ``surrogate``, ``nilearn``, or the path of an image.
    name : str
        What file names call it: ``AAL116``, or ``surrogate116`` for the phantom's regions.
    table : DataFrame
        All regions, indexed by abbreviation, in the atlas's order.
    """

    origin: str
    name: str
    table: pd.DataFrame

    @property
    def rois(self) -> list[str]:
        """All regions, in the atlas's order."""
        return self.table.index.tolist()

    @property
    def selected(self) -> list[str]:
        """The regions that networks are learned of."""
        return self.table.index[self.table["selected"]].tolist()

    @property
    def coordinates(self) -> list[list[float]]:
        """MNI coordinates of all regions, mm."""
        return self.table[["x", "y", "z"]].to_numpy().tolist()

    def column(self, name: str) -> list[Any]:
        """Give a column of the table of regions; empty where the table does not have it."""
        return self.table[name].tolist() if name in self.table else []


@dataclass(frozen=True)
class Plan:
    """A study as the rules see it.

    Methods that take ``wildcards`` are input functions and parameters of Snakemake's rules.
    """

    tables: StudyTables
    source: Source
    atlas: Atlas

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
        """The sites that have both groups, and so networks."""
        return self.source.sites

    @property
    def group_sites(self) -> list[tuple[str, str]]:
        """Every group at every site, as networks are listed."""
        return [(group, site) for group in self.groups for site in self.sites]

    @cached_property
    def participants(self) -> list[str]:
        """All who are processed, ``sub-…``."""
        return self.source.participants["participant_id"].tolist()

    @cached_property
    def subjects(self) -> list[str]:
        """All who are processed, without ``sub-``, as files name them."""
        return [name.removeprefix("sub-") for name in self.participants]

    @cached_property
    def processed_sites(self) -> list[str]:
        """The sites of all who are processed, with or without both groups."""
        return self.source.participants["site"].unique().tolist()

    @property
    def has_motion(self) -> bool:
        """Whether it is known how much the subjects moved."""
        return self.source.has_images or "mean_fd_mm" in self.source.participants

    @property
    def clean_series(self) -> str:
        """Pattern of the tables of clean ROI series."""
        return f"results/timeseries/sub-{{subject}}_seg-{self.atlas.name}_desc-clean_timeseries.tsv"

    @property
    def clean_report(self) -> str:
        """Pattern of the reports beside the clean series: quality, methods, or why it failed."""
        return self.clean_series.replace(".tsv", ".json")

    def protocol(self, wildcards: Wildcards) -> Mapping[str, Any]:
        """Protocol of a subject's site: its row of the sites table, without phantom counts."""
        site, _ = self._sites_and_groups[wildcards.subject]
        return self._protocols[site]

    def true_network(self, wildcards: Wildcards) -> str:
        """Path of the true network of a phantom subject's group at its site."""
        site, group = self._sites_and_groups[wildcards.subject]
        return f"results/phantom/truth/group-{group}_site-{site}_relmat.tsv"

    def subjects_at(self, site: str) -> list[str]:
        """Subjects of a site, without ``sub-``, in the order of the participants table."""
        return [name for name, (own, _) in self._sites_and_groups.items() if own == site]

    # Looked up once per job: plain dictionaries are a hundred times faster than tables.
    @cached_property
    def _sites_and_groups(self) -> dict[str, tuple[str, str]]:
        table = self.source.participants
        pairs = zip(table["site"], table["group"], strict=True)
        return dict(zip(self.subjects, pairs, strict=True))

    @cached_property
    def _protocols(self) -> dict[str, dict[str, Any]]:
        rows = self.tables.sites.drop(columns=PHANTOM_COUNTS).to_dict("records")
        return {row["site"]: {str(key): value for key, value in row.items()} for row in rows}


def plan_study(config: Mapping[str, Any], schemas: str | Path, name: str) -> Plan:
    """Check a study's configuration, files ``name``, and plan it.

    Parameters
    ----------
    config : mapping
        The settings, as merged by Snakemake.
    schemas : path
        Folder with the schemas of the configuration and its tables.
    name : str
        What to call the configuration in messages: its files.
    """
    tables = read_tables(config, schemas, name)
    source = read_source(config, tables, name)
    return Plan(tables, source, _atlas(config["rois"]["atlas"], source, tables.rois))


def _atlas(setting: str, source: Source, table: pd.DataFrame) -> Atlas:
    """Regions of a study: the phantom brings its own, people's are AAL's."""
    origin = setting
    if setting == "auto":
        origin = "surrogate" if source.kind == "phantom" else "nilearn"
    name = "surrogate" if origin == "surrogate" else "AAL"
    return Atlas(origin, f"{name}{len(table)}", table)
