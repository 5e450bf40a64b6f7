"""Everything that the report reads: the tables, networks and records of one finished study."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.io.networks import read_networks
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_table

Networks = Mapping[tuple[str, str], pd.DataFrame]
TABLES = (
    "cohort", "flow", "table_one", "degree", "degree_top", "degree_totals", "overlap",
    "site_specific", "counts", "scale_audit", "edge_motion",
)  # fmt: skip


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
        Sites that have a network.
    rois : DataFrame
        The selected regions, indexed by abbreviation.
    tables : mapping of str to DataFrame
        Those of ``TABLES``, and ``truth`` for a phantom.
    networks, other_scale : mapping of (group, site) to DataFrame
        The networks, and those learned on the other scale.
    true_networks : mapping of (group, site) to DataFrame
        Of a phantom; else empty.
    fits : mapping of str to mapping
        Record of each group's fit.
    sidecars : mapping of (group, site) to mapping
        Record of each network.
    reports : mapping of str to mapping
        Record of each participant's series.
    config : mapping
        The settings of the study.
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
    true_networks: Networks = field(default_factory=dict)

    @property
    def cohort(self) -> pd.DataFrame:
        """Every participant."""
        return self.tables["cohort"]

    @property
    def has_images(self) -> bool:
        """Whether the study preprocessed images, or began at ROI series."""
        return any("methods" in report for report in self.reports.values())

    @property
    def has_surrogate_atlas(self) -> bool:
        """Whether the regions were grown around AAL's coordinates; else they are AAL itself."""
        return self.kind == "phantom" and self.config["rois"]["atlas"] in ("auto", "surrogate")

    def cautions_on(self, participant: str) -> list[str]:
        """Say what is unusual of a subject's figures; nothing of one without a report."""
        return list(self.reports.get(participant, {}).get("cautions", []))

    @property
    def n_subjects(self) -> dict[str, int]:
        """How many people's series the networks of each group were learned from."""
        return {
            group: sum(self.sidecars[group, site]["Subjects"] for site in self.sites)
            for group in self.groups
        }


def read_findings(inputs: Any, params: Any) -> Findings:
    """Read the results; ``inputs`` and ``params`` are those of the rule."""
    group_sites = [(group, site) for group in params.groups for site in params.sites]
    # Each says whose it is: the order of the files is not that of groups and sites.
    found = [read_sidecar(Path(path).with_suffix(".json")) for path in inputs.networks]
    sidecars = {(sidecar["Group"], sidecar["Site"]): sidecar for sidecar in found}
    names = [*TABLES, *(["truth"] if inputs.get("truth") else [])]
    return Findings(
        kind=params.config["source"]["kind"],
        groups=tuple(params.groups),
        sites=list(params.sites),
        rois=selected_rois(params.config["rois"]["table"]),
        tables={name: read_table(inputs[name]) for name in names},
        networks=read_networks(inputs.networks, group_sites),
        other_scale=read_networks(inputs.other_scale, group_sites),
        fits={fit["Group"]: fit for fit in map(read_sidecar, inputs.fits)},
        sidecars={key: sidecars[key] for key in group_sites},
        reports=dict(zip(params.participants, map(read_sidecar, inputs.reports), strict=True)),
        config=json.loads(json.dumps(params.config)),
        true_networks=(
            read_networks(inputs.true_networks, group_sites) if inputs.get("true_networks") else {}
        ),
    )


def selected_rois(table: str | Path) -> pd.DataFrame:
    """Read the selected regions of the table of regions, indexed by abbreviation."""
    rois = read_table(table)
    return rois[rois["selected"]].set_index("abbreviation", drop=False)
