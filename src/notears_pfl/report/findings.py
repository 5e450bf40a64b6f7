"""The findings of a study, as the sections of the report use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

Networks = Mapping[tuple[str, str], pd.DataFrame]


@dataclass(frozen=True)
class Findings:
    """Results of a study.

    Parameters
    ----------
    kind : str
        ``source.kind`` of the configuration.
    groups : tuple of str
        Patients and controls.
    sites : sequence of str
        Sites with a network.
    rois : DataFrame
        The selected regions, indexed by abbreviation.
    tables : mapping of str to DataFrame
        Tables of results by name; ``truth`` for a phantom only, ``weight_regression`` only where
        weights were regressed on something.
    networks, other_scale : mapping of (group, site) to DataFrame
        The networks, and those estimated with the other scaling of the data.
    true_networks : mapping of (group, site) to DataFrame
        Ground truth of a phantom; otherwise empty.
    fits : mapping of str to mapping
        Record of each group's fit.
    sidecars : mapping of (group, site) to mapping
        Record of each network.
    reports : mapping of str to mapping
        Record of each participant's series.
    config : mapping
        The settings of the study.
    atlas : mapping
        Description of the atlas: ``family``, ``name``, ``title``, ``citation`` and ``space``.
    left_out : DataFrame
        Regions of the atlas that are not selected.
    """

    kind: str
    groups: tuple[str, str]
    sites: Sequence[str]
    rois: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    networks: Networks
    other_scale: Networks
    fits: Mapping[str, Mapping[str, Any]]
    sidecars: Mapping[tuple[str, str], Mapping[str, Any]]
    reports: Mapping[str, Mapping[str, Any]]
    config: Mapping[str, Any]
    atlas: Mapping[str, str]
    true_networks: Networks = field(default_factory=dict)
    left_out: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def cohort(self) -> pd.DataFrame:
        """Every participant."""
        return self.tables["cohort"]

    @property
    def preprocessed_images(self) -> bool:
        """Whether the study preprocessed images; otherwise it started from ROI time series."""
        return any("methods" in report for report in self.reports.values())

    @property
    def has_surrogate_atlas(self) -> bool:
        """Whether the regions were grown around coordinates instead of taken from the atlas."""
        return self.atlas["family"] == "surrogate"

    @property
    def class_of_regions(self) -> str:
        """What the classes of the regions are: ``lobe``, or ``network`` if it stands in for it."""
        stands_in = "network" in self.rois and self.rois["lobe"].equals(self.rois["network"])
        return "network" if stands_in else "lobe"

    @property
    def other_scale_words(self) -> str:
        """What the other scale is, on which all networks are estimated again."""
        if self.config["network"]["scale"] == "subject":
            return "where each region is scaled to unit variance, not each subject by one factor"
        return "where each subject is scaled by one factor, not each region to unit variance"

    def cautions_on(self, participant: str) -> list[str]:
        """Cautions about a subject; none for subjects without a report."""
        return list(self.reports.get(participant, {}).get("cautions", []))

    @property
    def n_subjects(self) -> dict[str, int]:
        """Number of discovery subjects behind the networks of each group."""
        return {
            group: sum(self.sidecars[group, site]["Subjects"] for site in self.sites)
            for group in self.groups
        }

    @property
    def caption_words(self) -> dict[str, Any]:
        """Words for the placeholders of captions: groups, sites, numbers of subjects, settings."""
        patients, controls = self.groups
        subjects = " and ".join(f"{n} {group}" for group, n in self.n_subjects.items())
        return {
            "patients": patients,
            "controls": controls,
            "n_sites": len(self.sites),
            "n": f" (n = {subjects} discovery subjects)",
            "smallest": f"{self.config['evidence']['smallest_difference']:g}",
        }


def sites_of_one(group: str, groups: tuple[str, str]) -> str:
    """Say where connections are that are at every site of ``group``, and not of the other one.

    The other group may have them at some of its sites: "only" would say too much.
    """
    other = groups[1] if group == groups[0] else groups[0]
    return f"every site of {group}, not every site of {other}"


def with_both_groups(counts: pd.DataFrame, groups: tuple[str, str]) -> pd.DataFrame:
    """Name both groups in ``who``, where tables of counts say that a group "only" has them."""
    a, b = groups
    words = {f"{a} only": f"{a}, not every site of {b}", f"{b} only": f"{b}, not every site of {a}",
             f"{a} only minus {b} only": f"{a} minus {b}"}  # fmt: skip
    return counts.assign(who=counts["who"].replace(words))


def selected_rois(table: pd.DataFrame) -> pd.DataFrame:
    """Select the regions of the study from the table of all regions; index by abbreviation."""
    return table[table["selected"]].set_index("abbreviation", drop=False)
