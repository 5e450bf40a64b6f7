"""The report of a study: all sections, in the order in which they are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from notears_pfl.analysis.stability import draw_stability
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

EXTRA_TABLES = {
    "results/compare/proportion_tests.tsv": "proportion_tests",
    "results/compare/edges.tsv": "drawn_networks",
    "results/simulate/wins.tsv": "simulation_wins",
    "results/simulate/cost.tsv": "simulation_cost",
}


@dataclass(frozen=True)
class Extras:
    """Results of targets that a study may or may not have run."""

    proportion_tests: pd.DataFrame | None = None
    stability: pd.DataFrame | None = None
    simulation_wins: pd.DataFrame | None = None
    simulation_cost: pd.DataFrame | None = None
    pictures: Sequence[str] = ()


def read_extras(paths: Iterable[str]) -> Extras:
    """Read the files of :data:`EXTRA_TABLES` that are among ``paths``; PNGs are pictures.

    Stability comes from the networks of the draws, where there are any.
    """
    tables = {EXTRA_TABLES[path]: read_table(path) for path in paths if path in EXTRA_TABLES}
    drawn = tables.pop("drawn_networks", None)
    edges = [read_table(path) for path in paths if path.endswith("_edges.tsv")]
    stability = None
    if drawn is not None and edges:
        stability = draw_stability(pd.concat(edges, ignore_index=True), drawn, "pfl")
    pictures = [path for path in paths if path.endswith(".png")]
    return Extras(**tables, stability=stability, pictures=pictures)


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
        comparison_section(extras.proportion_tests, findings.groups, pictures),
        simulations_section(extras.simulation_wins, extras.simulation_cost, pictures),
        truth_section(findings, pictures),
        limits_section(findings, extras.proportion_tests is not None),
        methods_section(findings),
        provenance_section(findings, origin),
    ]
    return index_page(title, subtitle, sections)
