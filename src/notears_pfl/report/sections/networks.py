"""Networks: each site and group, what all sites share, what one site has, and every edge."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from notears_pfl.report.embed import Picture
from notears_pfl.report.findings import Findings
from notears_pfl.report.page import Section
from notears_pfl.report.tables import Cell, Column, PageTable, cell, page_table


def networks_section(
    findings: Findings, pictures: Mapping[str, Picture], stability: pd.DataFrame | None = None
) -> Section:
    """Figures of all networks, figures of what they share, and the table of edges.

    ``stability``, if it was computed, has ``group``, ``from``, ``to`` and ``share``: of the draws
    of validation subjects in which the connection was found.
    """
    edges = edge_records(findings, stability)
    counts = findings.tables["counts"]
    return Section(
        "networks",
        "Networks",
        {
            "groups": findings.groups,
            "sites": findings.sites,
            "pictures": pictures,
            "n_subjects": {f"{g}|{s}": findings.sidecars[g, s]["Subjects"]
                           for g, s in findings.networks},
            "n_edges": {f"{g}|{s}": int((network.to_numpy() != 0).sum())
                        for (g, s), network in findings.networks.items()},
            "n_overlap": len(findings.tables["overlap"]),
            "counts": page_table(
                "connection_counts",
                "How many connections, with direction and without",
                counts,
                {"result": "connections", "who": "of", "directed": "with direction",
                 "undirected": "without"},
            ),
            "edge_table": _edge_table(findings, edges, stability is not None),
            "edges": edges,
            "audit": _audit_table(findings),
        },
    )  # fmt: skip


def edge_records(findings: Findings, stability: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Everything known of each connection that any network has, ready for JSON."""
    present = np.any([n.to_numpy() != 0 for n in findings.networks.values()], axis=0)
    names = findings.rois.index
    motion = findings.tables["edge_motion"].set_index(["from", "to"]).to_dict("index")
    stable = None if stability is None else stability.set_index(["group", "from", "to"])["share"]
    records = []
    for i, j in zip(*np.nonzero(present), strict=True):
        start, end = str(names[i]), str(names[j])
        record: dict[str, Any] = {
            "from": start,
            "to": end,
            "regions": [_region(findings.rois, start), _region(findings.rois, end)],
            "weights": _weights(findings.networks, i, j),
            "reverse": _weights(findings.networks, j, i),
            "other": _weights(findings.other_scale, i, j),
            "other_reverse": _weights(findings.other_scale, j, i),
            "truth": _weights(findings.true_networks, i, j),
            "motion": _motion(motion, start, end),
        }
        if stable is not None:
            record["stability"] = {
                g: float(stable.get((g, start, end), 0.0)) for g in findings.groups
            }
        records.append(record | _direction(record))
    return sorted(records, key=lambda record: _interest(record, findings))


def _interest(record: Mapping[str, Any], findings: Findings) -> tuple[int, float]:
    """Order of the table: at every site of one group only, of both, at more sites, stronger."""
    where = found_where(record, findings.groups, len(findings.sites))
    kinds = [f"every site, {group} only" for group in findings.groups] + ["every site, both"]
    weights = [w for sites in record["weights"].values() for w in sites.values()]
    rank = kinds.index(where) if where in kinds else len(kinds) + 100 - len(weights)
    return rank, -float(np.mean(np.abs(weights)))


def _region(rois: pd.DataFrame, name: str) -> str:
    side = {"L": "left", "R": "right"}.get(name.rsplit(".", 1)[-1], "")
    full = ", ".join(part for part in (rois["name"][name], side) if part)
    return f"{full} ({rois['lobe'][name]})"


def _weights(
    networks: Mapping[tuple[str, str], pd.DataFrame], i: int, j: int
) -> dict[str, dict[str, float]]:
    """Weights of i → j by group, then site; sites without the edge are left out."""
    found: dict[str, dict[str, float]] = {}
    for (group, site), network in networks.items():
        weight = float(network.to_numpy()[i, j])
        if weight:
            found.setdefault(group, {})[site] = round(weight, 3)
    return found


def _direction(record: Mapping[str, Any]) -> dict[str, int]:
    """In how many of the networks with the edge the other scale has it, and the same way."""
    has = [(g, s) for g, sites in record["weights"].items() for s in sites]
    same = sum(s in record["other"].get(g, {}) for g, s in has)
    turned = sum(s in record["other_reverse"].get(g, {}) for g, s in has)
    return {"n_networks": len(has), "n_common": same + turned, "n_same": same}


def _motion(
    motion: Mapping[Any, Mapping[Any, Any]], start: str, end: str
) -> dict[str, float] | None:
    row = motion.get((start, end))
    if row is None or pd.isna(row["r"]):
        return None
    return {"r": round(float(row["r"]), 2), "p": float(row["p"]), "n": int(row["n"])}


def direction_flag(record: Mapping[str, Any]) -> str:
    """Say whether the direction holds on the other scale."""
    if not record["n_common"]:
        return "not found"
    if record["n_same"] == record["n_common"]:
        return "kept"
    return "turned" if not record["n_same"] else "mixed"


def _edge_table(findings: Findings, edges: list[dict[str, Any]], with_stability: bool) -> PageTable:
    n = len(findings.sites)
    columns = [Column("connection"), Column("from lobe"), Column("to lobe")]
    for group in findings.groups:
        columns += [Column(f"{group}: sites", True), Column(f"{group}: mean weight", True)]
    columns += [Column("found"), Column("direction on the other scale"), Column("motion r", True)]
    if with_stability:
        columns += [Column(f"{group}: draws", True) for group in findings.groups]
    rows = []
    for record in edges:
        row = [
            Cell(_button(f"{record['from']} → {record['to']}")),
            cell(findings.rois["lobe"][record["from"]]),
            cell(findings.rois["lobe"][record["to"]]),
        ]
        for group in findings.groups:
            weights = list(record["weights"].get(group, {}).values())
            row.append(Cell(f"{len(weights)}/{n}", len(weights)))
            row.append(cell(float(np.mean(weights)) if weights else None, "+.2f"))
        row.append(Cell(found_where(record, findings.groups, n)))
        flag = direction_flag(record)
        row.append(Cell(flag, flagged=flag in ("turned", "mixed")))
        motion = record["motion"]
        row.append(
            Cell(f"{motion['r']:+.2f}", motion["r"], motion["p"] < 0.05) if motion else cell(None)
        )
        if with_stability:
            row += [cell(record["stability"][group], ".0%") for group in findings.groups]
        rows.append(row)
    caption = f"Every connection of any network (n = {len(edges)}); press one to see its sites"
    filters = ("from lobe", "to lobe", "found", "direction on the other scale")
    return PageTable("edges", caption, columns, rows, interactive=True, filters=filters)


def _button(text: str) -> Markup:
    return Markup('<button type="button" class="edge">{}</button>').format(text)


def found_where(record: Mapping[str, Any], groups: tuple[str, str], n_sites: int) -> str:
    """Say where a connection is: at every site of one group or both, at one site, or at some."""
    numbers = [len(record["weights"].get(group, {})) for group in groups]
    everywhere = [group for group, k in zip(groups, numbers, strict=True) if k == n_sites]
    if len(everywhere) == 2:
        return "every site, both"
    if everywhere:
        return f"every site, {everywhere[0]} only"
    if sum(numbers) == 1:
        return "one site"
    return "some sites"


def _audit_table(findings: Findings) -> PageTable:
    titles = {
        "group": "group", "site": "site", "edges": "edges",
        "common_connections": "also on the other scale", "same_direction": "same direction",
        "share_same_direction": "share", "var_sortability": "var-sortability",
        "r2_sortability": "R²-sortability", "also_by_sort_and_regress": "found by sorting alone",
    }  # fmt: skip
    formats = {
        "share_same_direction": ".0%",
        "var_sortability": ".2f",
        "r2_sortability": ".2f",
        "also_by_sort_and_regress": ".0f",
    }
    return page_table(
        "scale_audit",
        "Directions on the other scale, and what sorting alone would give",
        findings.tables["scale_audit"],
        titles,
        formats,
    )
