"""The table of connections: sites, weights, direction on both scales, head motion, stability."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from notears_pfl.report.findings import Findings, sites_of_one
from notears_pfl.report.page_parts import Cell, Column, PageTable, cell


def edge_records(findings: Findings, stability: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Collect everything known about each connection of any network, ready for JSON."""
    present = np.any([n.to_numpy() != 0 for n in findings.networks.values()], axis=0)
    names = findings.rois.index
    motion = findings.tables["edge_motion"].set_index(["from", "to"]).to_dict("index")
    evidence = findings.tables["evidence_connections"].set_index(["from", "to", "group"])
    known = evidence.to_dict("index")
    stable = None if stability is None else stability.set_index(["group", "from", "to"])["share"]
    weights, other, truth = (
        _weights(networks)
        for networks in (findings.networks, findings.other_scale, findings.true_networks)
    )
    records = []
    for i, j in zip(*(places.tolist() for places in np.nonzero(present)), strict=True):
        start, end = str(names[i]), str(names[j])
        record: dict[str, Any] = {
            "from": start,
            "to": end,
            "regions": [_region(findings.rois, start), _region(findings.rois, end)],
            "weights": weights.get((i, j), {}),
            "reverse": weights.get((j, i), {}),
            "other": other.get((i, j), {}),
            "other_reverse": other.get((j, i), {}),
            "truth": truth.get((i, j), {}),
            "motion": _motion(motion, start, end),
            "evidence": _evidence(known, start, end, findings.groups),
        }
        if stable is not None:
            record["stability"] = {
                g: float(stable.get((g, start, end), 0.0)) for g in findings.groups
            }
        records.append(record | _direction(record))
    return sorted(records, key=lambda record: _rank(record, findings))


def connection_table(
    findings: Findings, edges: list[dict[str, Any]], with_stability: bool
) -> PageTable:
    """Show a row for each of ``edges``, as :func:`edge_records` gives them."""
    n = len(findings.sites)
    ends = [f"{end} {findings.class_of_regions}" for end in ("from", "to")]
    columns = [Column("connection"), *(Column(end, extra=True) for end in ends)]
    for group in findings.groups:
        columns += [Column(f"{group}: sites", True), Column(f"{group}: mean weight", True)]
    columns += [Column("q of the difference", True)]
    columns += [Column("found"), Column("direction on the other scale"), Column("motion r", True)]
    if with_stability:
        columns += [Column(f"{group}: draws", True, True) for group in findings.groups]
    rows = []
    lobes = findings.rois["lobe"].to_dict()
    for place, record in enumerate(edges):
        row = [
            Cell(_button(f"{record['from']} → {record['to']}", place)),
            cell(lobes[record["from"]]),
            cell(lobes[record["to"]]),
        ]
        for group in findings.groups:
            weights = list(record["weights"].get(group, {}).values())
            row.append(_sites_with(len(weights), n, len(record["reverse"].get(group, {}))))
            row.append(cell(float(np.mean(weights)) if weights else None, "+.2f"))
        row.append(cell(next((e["q"] for e in record["evidence"].values()), None), ".3f"))
        row.append(Cell(found_where(record, findings.groups, n)))
        flag = direction_flag(record)
        row.append(Cell(flag, flagged=flag in ("reversed", "mixed")))
        motion = record["motion"]
        row.append(
            Cell(f"{motion['r']:+.2f}", motion["r"], motion["p"] < 0.05) if motion else cell(None)
        )
        if with_stability:
            row += [cell(record["stability"][group], ".0%") for group in findings.groups]
        rows.append(row)
    caption = f"All connections of any network (n = {len(edges)}); click one for details"
    filters = (*ends, "found", "direction on the other scale")
    file = "results/evidence/connections.tsv"
    note = ", with a row for each group that has the connection"
    return PageTable("edges", caption, columns, rows, True, filters, file, note)


def direction_flag(record: Mapping[str, Any]) -> str:
    """Say whether the direction is the same on the other scale."""
    if not record["n_common"]:
        return "not found"
    if record["n_same"] == record["n_common"]:
        return "kept"
    return "reversed" if not record["n_same"] else "mixed"


def found_where(record: Mapping[str, Any], groups: tuple[str, str], n_sites: int) -> str:
    """Say where a connection was found: at every site of one group or both, at one, or at some."""
    numbers = [len(record["weights"].get(group, {})) for group in groups]
    everywhere = [group for group, k in zip(groups, numbers, strict=True) if k == n_sites]
    if len(everywhere) == 2:
        return "every site, both"
    if everywhere:
        return sites_of_one(everywhere[0], groups)
    if sum(numbers) == 1:
        return "one site"
    return "some sites"


def _rank(record: Mapping[str, Any], findings: Findings) -> tuple[int, float]:
    """Sort key: every site of one group, of both groups, then number of sites and strength."""
    where = found_where(record, findings.groups, len(findings.sites))
    kinds = [sites_of_one(group, findings.groups) for group in findings.groups] + [
        "every site, both"
    ]
    weights = [w for sites in record["weights"].values() for w in sites.values()]
    rank = kinds.index(where) if where in kinds else len(kinds) + 100 - len(weights)
    return rank, -float(np.mean(np.abs(weights)))


def _sites_with(k: int, n: int, n_reversed: int) -> Cell:
    """Count the sites with a connection, and flag those that have it reversed."""
    text = f"{k}/{n}, reversed at {n_reversed}" if n_reversed else f"{k}/{n}"
    return Cell(text, k, bool(n_reversed))


def _region(rois: pd.DataFrame, name: str) -> str:
    side = {"L": "left", "R": "right"}.get(name.rsplit(".", 1)[-1], "")
    full = ", ".join(part for part in (rois["name"][name], side) if part)
    return f"{full} ({rois['lobe'][name]})"


def _weights(
    networks: Mapping[tuple[str, str], pd.DataFrame],
) -> dict[tuple[int, int], dict[str, dict[str, float]]]:
    """Weights by edge i → j, then group, then site; sites without the edge are omitted."""
    found: dict[tuple[int, int], dict[str, dict[str, float]]] = {}
    for (group, site), network in networks.items():
        weights = network.to_numpy()
        for i, j in np.argwhere(weights).tolist():
            of_edge = found.setdefault((i, j), {})
            of_edge.setdefault(group, {})[site] = round(float(weights[i, j]), 3)
    return found


def _direction(record: Mapping[str, Any]) -> dict[str, int]:
    """Count the networks whose edge the other scale has too, and has in the same direction."""
    has = [(g, s) for g, sites in record["weights"].items() for s in sites]
    same = sum(s in record["other"].get(g, {}) for g, s in has)
    reversed_ = sum(s in record["other_reverse"].get(g, {}) for g, s in has)
    return {"n_networks": len(has), "n_common": same + reversed_, "n_same": same}


def _motion(
    motion: Mapping[Any, Mapping[Any, Any]], start: str, end: str
) -> dict[str, float] | None:
    row = motion.get((start, end))
    if row is None or pd.isna(row["r"]):
        return None
    return {"r": round(float(row["r"]), 2), "p": float(row["p"]), "n": int(row["n"])}


def _evidence(
    evidence: Mapping[Any, Mapping[Any, Any]], start: str, end: str, groups: tuple[str, str]
) -> dict[str, dict[str, Any]]:
    """Frequencies in bootstraps, p and q by group; groups without the connection are omitted."""
    found = {}
    for group in groups:
        row = evidence.get((start, end, group))
        if row is not None:
            figures = ("selection", "direction", "difference", "p", "q", "replicated")
            values = {name: float(row[name]) for name in figures}
            found[group] = {k: None if np.isnan(v) else round(v, 4) for k, v in values.items()}
    return found


def _button(text: str, place: int) -> Markup:
    button = '<button type="button" class="edge" data-record="{}">{}</button>'
    return Markup(button).format(place, text)
