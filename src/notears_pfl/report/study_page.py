"""The report of a study: all sections, in the order in which they are read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.analysis.stability import draw_stability
from notears_pfl.io.provenance import departures
from notears_pfl.io.tables import read_table
from notears_pfl.report.embed import Picture
from notears_pfl.report.findings import Findings
from notears_pfl.report.page import index_page
from notears_pfl.report.sections.cohort import cohort_section
from notears_pfl.report.sections.extras import comparison_section, simulations_section
from notears_pfl.report.sections.glance import glance_section
from notears_pfl.report.sections.limits import limits_section
from notears_pfl.report.sections.methods import methods_section
from notears_pfl.report.sections.networks import networks_section
from notears_pfl.report.sections.nodes import nodes_section
from notears_pfl.report.sections.provenance import Origin, provenance_section
from notears_pfl.report.sections.quality import quality_section
from notears_pfl.report.sections.truth import truth_section


@dataclass(frozen=True)
class Target:
    """Files of a target that a study may or may not have run; ``record`` says what from."""

    record: str
    tables: Mapping[str, str]


TARGETS = {
    "comparison": Target(
        "results/compare/proportion_tests.json",
        {
            "proportion_tests": "results/compare/proportion_tests.tsv",
            "drawn_networks": "results/compare/edges.tsv",
        },
    ),
    "simulation": Target(
        "results/simulate/metrics.json",
        {
            "simulation_wins": "results/simulate/wins.tsv",
            "simulation_cost": "results/simulate/cost.tsv",
        },
    ),
}


@dataclass(frozen=True)
class Extras:
    """Results of targets that a study may or may not have run.

    ``outdated`` names, for a target whose results are of other settings or other data, what has
    changed since. Such results are not shown.
    """

    proportion_tests: pd.DataFrame | None = None
    stability: pd.DataFrame | None = None
    simulation_wins: pd.DataFrame | None = None
    simulation_cost: pd.DataFrame | None = None
    pictures: Sequence[str] = ()
    outdated: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_extras(paths: Collection[str], settings: Mapping[str, Mapping[str, Any]]) -> Extras:
    """Read the files of :data:`TARGETS` that are among ``paths``; PNGs are pictures.

    Stability comes from the networks of the draws, where there are any. ``settings`` are those
    that a target would be run with now.
    """
    tables: dict[str, pd.DataFrame] = {}
    edges: list[pd.DataFrame] = []
    outdated, pictures = {}, []
    for name, target in TARGETS.items():
        own = Path(target.record).parent
        found = [path for path in paths if Path(path).is_relative_to(own)]
        if not any(path in found for path in target.tables.values()):
            continue
        if changed := departures(settings[name], target.record):
            outdated[name] = changed
            continue
        tables |= {key: read_table(path) for key, path in target.tables.items() if path in found}
        pictures += [path for path in found if path.endswith(".png")]
        edges += [read_table(path) for path in found if path.endswith("_edges.tsv")]
    drawn, stability = tables.pop("drawn_networks", None), None
    if drawn is not None and edges:
        stability = draw_stability(pd.concat(edges, ignore_index=True), drawn, "pfl")
    return Extras(**tables, stability=stability, pictures=pictures, outdated=outdated)


def study_page(
    findings: Findings, pictures: Mapping[str, Picture], extras: Extras, origin: Origin
) -> str:
    """Write the report."""
    patients, controls = findings.groups
    n = findings.cohort[findings.cohort["included"].astype(bool)]["group"].value_counts()
    title = f"Directed brain networks of {patients} and {controls} at {len(findings.sites)} sites"
    subtitle = (
        f"NOTEARS-PFL on {n.get(patients, 0)} {patients} and {n.get(controls, 0)} {controls}, "
        f"{len(findings.rois)} regions."
    )
    sections = [
        glance_section(findings),
        cohort_section(findings, pictures),
        quality_section(findings),
        networks_section(findings, pictures, extras.stability),
        nodes_section(findings, pictures),
        comparison_section(
            extras.proportion_tests, findings.groups, pictures, extras.outdated.get("comparison")
        ),
        simulations_section(
            extras.simulation_wins,
            extras.simulation_cost,
            pictures,
            extras.outdated.get("simulation"),
        ),
        truth_section(findings, pictures),
        limits_section(findings, extras.proportion_tests is not None),
        methods_section(findings),
        provenance_section(findings, origin),
    ]
    return index_page(title, subtitle, sections)
