"""The report of a study: read its results and put all sections on one page."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.analysis.stability import draw_stability
from notears_pfl.io.atomic import whole_file
from notears_pfl.io.batches import ListedFiles, listed_runs
from notears_pfl.io.fingerprint import file_digest
from notears_pfl.io.networks import read_networks
from notears_pfl.io.provenance import departures
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_regions, read_table
from notears_pfl.report.contact_sheet import read_set_aside
from notears_pfl.report.findings import Findings, selected_rois
from notears_pfl.report.page import Page, embed_picture, index_page, link_picture
from notears_pfl.report.page_parts import Caption, Picture, SetAside
from notears_pfl.report.palette import MANY_SITES
from notears_pfl.report.sections import (
    certainty,
    group_balance,
    method_comparison,
    nodes,
    phantom_truth,
    subject_quality,
)
from notears_pfl.report.sections.certainty import certainty_section
from notears_pfl.report.sections.cohort_flow import cohort_captions, cohort_section
from notears_pfl.report.sections.glance import glance_section
from notears_pfl.report.sections.individual_weights import individual_section
from notears_pfl.report.sections.limits import limits_section
from notears_pfl.report.sections.method_comparison import comparison_section
from notears_pfl.report.sections.methods_paragraph import methods_section
from notears_pfl.report.sections.nodes import nodes_section
from notears_pfl.report.sections.phantom_truth import truth_section
from notears_pfl.report.sections.run_provenance import Origin, provenance_section
from notears_pfl.report.sections.simulations import simulations_captions, simulations_section
from notears_pfl.report.sections.site_networks import networks_captions, networks_section
from notears_pfl.report.sections.subject_quality import quality_section

TABLES = (
    "cohort", "flow", "table_one", "balance", "degree", "degree_top", "degree_totals",
    "overlap", "site_specific", "counts", "scale_audit", "edge_motion", "evidence_connections",
    "evidence_counts", "evidence_tested", "evidence_replication",
)  # fmt: skip
BENCHMARK = ".benchmark.tsv"
CAPTIONS = {
    "page": Caption(
        "The whole report",
        "The whole report on one page that works offline. This copy is without the pages of the "
        "subjects and, in studies of many sites, subjects or connections, without some figures, "
        "rows of tables and details of connections: for these, open results/report/index.html.",
    )
}


@dataclass(frozen=True)
class Target:
    """Results of a target that a study may or may not have run.

    ``record`` is the file that lists the settings and sources that they were computed from.
    """

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

    ``outdated`` lists, by target, what has changed since its results were computed. Outdated
    results are not shown.
    """

    proportion_tests: pd.DataFrame | None = None
    stability: pd.DataFrame | None = None
    simulation_wins: pd.DataFrame | None = None
    simulation_cost: pd.DataFrame | None = None
    pictures: Sequence[str] = ()
    outdated: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_findings(inputs: Any, params: Any) -> Findings:
    """Read the results of a study from the ``inputs`` and ``params`` of the rule."""
    group_sites = [(group, site) for group in params.groups for site in params.sites]
    # Sidecars name their group and site: the files may come in any order.
    found = [read_sidecar(Path(path).with_suffix(".json")) for path in inputs.networks]
    sidecars = {(sidecar["Group"], sidecar["Site"]): sidecar for sidecar in found}
    reports = ListedFiles(inputs.reports, "report", params.participants)
    names = [*TABLES, *(name for name in ("truth", "weight_regression") if inputs.get(name))]
    regions = read_regions(params.config["rois"]["table"])
    return Findings(
        kind=params.config["source"]["kind"],
        groups=tuple(params.groups),
        sites=list(params.sites),
        rois=selected_rois(regions),
        left_out=regions[~regions["selected"]],
        tables={name: read_table(inputs[name]) for name in names},
        networks=read_networks(inputs.networks, group_sites),
        other_scale=read_networks(inputs.other_scale, group_sites),
        fits={fit["Group"]: fit for fit in map(read_sidecar, inputs.fits)},
        sidecars={key: sidecars[key] for key in group_sites},
        reports={name: read_sidecar(path) for name, path in reports.items()},
        config=json.loads(json.dumps(params.config)),
        atlas=params.atlas,
        true_networks=(
            read_networks(inputs.true_networks, group_sites) if inputs.get("true_networks") else {}
        ),
    )


def read_extras(paths: Collection[str], settings: Mapping[str, Mapping[str, Any]]) -> Extras:
    """Read the files of :data:`TARGETS` among ``paths``; PNG files are pictures.

    Stability is computed from the networks of the draws, if there are any. ``settings`` are the
    current settings of each target.
    """
    tables: dict[str, pd.DataFrame] = {}
    edges: list[pd.DataFrame] = []
    outdated, pictures = {}, []
    for name, target in TARGETS.items():
        folder = Path(target.record).parent
        found = [path for path in paths if Path(path).is_relative_to(folder)]
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


def read_benchmarks(folder: str | Path) -> pd.DataFrame:
    """Sum Snakemake's benchmark files below ``folder`` by rule.

    Returns
    -------
    DataFrame
        ``rule``, ``jobs``, ``wall_s`` and ``cpu_s`` (sums), ``memory_mb`` (of the largest job).
    """
    rows = []
    for path in sorted(Path(folder).rglob(f"*{BENCHMARK}")):
        first = path.relative_to(folder).parts[0].removesuffix(BENCHMARK)
        measured = pd.read_csv(path, sep="\t", na_values=["-", "NA"]).iloc[-1]
        rows.append(
            {
                "rule": first,
                "wall_s": measured["s"],
                "cpu_s": measured.get("cpu_time"),
                "memory_mb": measured["max_rss"],
            }
        )
    table = pd.DataFrame(rows, columns=["rule", "wall_s", "cpu_s", "memory_mb"])
    table[["wall_s", "cpu_s", "memory_mb"]] = table[["wall_s", "cpu_s", "memory_mb"]].astype(float)
    return (
        table.groupby("rule")
        .agg(
            jobs=("rule", "size"),
            wall_s=("wall_s", "sum"),
            cpu_s=("cpu_s", "sum"),
            memory_mb=("memory_mb", "max"),
        )
        .reset_index()
        .sort_values("cpu_s", ascending=False, kind="stable")
    )


def read_origin(command: str, sources: Iterable[str], logs: str | Path) -> Origin:
    """Collect how the page was made: checksums of ``sources``, costs from the ``logs`` folder."""
    digests = {source: file_digest(source) for source in sources}
    return Origin(command, digests, read_benchmarks(logs))


def figure_captions(findings: Findings) -> dict[str, Caption]:
    """Fill the captions of all figures, by figure name."""
    captions = (
        nodes.CAPTIONS
        | certainty.CAPTIONS
        | group_balance.CAPTIONS
        | method_comparison.CAPTIONS
        | phantom_truth.CAPTIONS
        | subject_quality.CAPTIONS
    )
    words = findings.caption_words
    return (
        {name: caption.filled(**words) for name, caption in captions.items()}
        | cohort_captions(findings)
        | networks_captions(findings)
        | simulations_captions()
    )


def embed_figures(paths: Iterable[str], findings: Findings) -> dict[str, Picture]:
    """Embed figures with their captions, by figure name.

    With many sites, those of single networks are linked instead.
    """
    captions = figure_captions(findings)
    linked = len(findings.sites) > MANY_SITES
    pictures = {}
    for path in paths:
        name = _figure_name(path)
        if linked and name.startswith("network_"):
            address = f"figures/{name}.png"
            pictures[name] = link_picture(path, name, captions[name], address)
        else:
            pictures[name] = embed_picture(path, name, captions[name])
    return pictures


def _figure_name(path: str) -> str:
    """Name of a figure: that of its file; figures of the simulations get a prefix."""
    stem = Path(path).stem
    return stem.replace("figure_", "simulation_") if "simulate" in Path(path).parts else stem


def read_shown_subjects(inputs: Any, params: Any, findings: Findings) -> SetAside | None:
    """Read the pictures of subjects that were set aside; None if no images were preprocessed."""
    if not inputs.get("sheets"):
        return None
    files = listed_runs(inputs, params.files, params.participants)
    return read_set_aside(findings.cohort, files, inputs.sheets)


def write_parts(page: Page, folder: str | Path) -> None:
    """Write the rows of a page's long tables into a folder, which is empty if it has none."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in page.parts.items():
        with whole_file(Path(folder) / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def study_page(
    findings: Findings,
    pictures: Mapping[str, Picture],
    extras: Extras,
    origin: Origin,
    set_aside: SetAside | None = None,
) -> Page:
    """Write the page, with the sections in reading order.

    Simulations that were not run are named in the provenance alone; only a phantom has a truth.
    """
    patients, controls = findings.groups
    n = findings.cohort[findings.cohort["included"].astype(bool)]["group"].value_counts()
    title = f"Directed brain networks of {patients} and {controls} at {len(findings.sites)} sites"
    subtitle = (
        f"NOTEARS-PFL on {n.get(patients, 0)} {patients} and {n.get(controls, 0)} {controls}, "
        f"{len(findings.rois)} regions."
    )
    simulations = simulations_section(
        extras.simulation_wins,
        extras.simulation_cost,
        pictures,
        extras.outdated.get("simulation"),
        origin.command,
    )
    simulated = extras.simulation_wins is not None or "simulation" in extras.outdated
    sections = [
        glance_section(findings),
        cohort_section(findings, pictures),
        quality_section(findings, pictures, set_aside),
        networks_section(findings, pictures, extras.stability),
        nodes_section(findings, pictures),
        certainty_section(findings, pictures),
        *([individual_section(findings)] if "weight_regression" in findings.tables else []),
        comparison_section(
            extras.proportion_tests,
            findings.groups,
            pictures,
            extras.outdated.get("comparison"),
            findings.config["comparison"]["connections"],
            origin.command,
        ),
        *([simulations] if simulated else []),
        *([truth_section(findings, pictures)] if "truth" in findings.tables else []),
        limits_section(findings, extras.proportion_tests is not None),
        methods_section(findings),
        provenance_section(findings, origin, "" if simulated else simulations.missing),
    ]
    return index_page(title, subtitle, sections)
