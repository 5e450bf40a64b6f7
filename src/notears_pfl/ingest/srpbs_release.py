"""Read the SRPBS release as it is on disk."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.acquisition import same_repetition_time
from notears_pfl.errors import DatasetError
from notears_pfl.ingest.datasets import read_participants
from notears_pfl.ingest.enrolment import Enrolment, enrol
from notears_pfl.ingest.participants import UNKNOWN
from notears_pfl.ingest.runs import Scan
from notears_pfl.ingest.srpbs import protocol_fields, with_meanings
from notears_pfl.io.tables import read_rows

PARTICIPANTS, PROTOCOLS = "participants.tsv", "MRI_protocols_rsMRI.tsv"


def enrol_release(
    source: Mapping[str, Any], sites: pd.DataFrame, sites_table: str, groups: tuple[str, str]
) -> Enrolment:
    """Enrol the subjects of the release at the sites that the sites table has.

    Elsewhere the order of slices is not known. A scan's ``bold`` is the folder of its volumes,
    its ``metadata`` what the table of protocols says.
    """
    root = Path(source["dataset"])
    table, wrong = read_participants(str(root / PARTICIPANTS), source, "", groups)
    protocols = _read_protocols(root / PROTOCOLS)
    participants = with_meanings(table.drop(columns="folder"))
    if "protocol" not in participants:
        msg = f"{root / PARTICIPANTS}: column protocol is missing. Take the release's own table."
        raise DatasetError(msg)
    # A site that is blank is a problem, not elsewhere.
    elsewhere = ~participants["site"].isin([*sites.index, UNKNOWN])
    scans: dict[str, Scan] = {}
    problems: dict[str, list[str]] = {}
    rows = zip(
        participants.index, participants["participant_id"], table["folder"], participants["site"],
        participants["protocol"].astype("string").str.removesuffix(".0"), strict=True,
    )  # fmt: skip
    for row, who, folder, site, number in rows:
        problems[who] = wrong.get(row, [])
        if site not in sites.index:
            continue
        scan, found = _find_scan(root / "data" / folder, protocols, str(number), sites.loc[site])
        problems[who] = [*problems[who], *found]
        if scan:
            scans[who] = scan
    reasons = ("site " + participants["site"] + f" is not in {sites_table}").where(elsewhere, "")
    tables = [str(root / PARTICIPANTS), str(root / PROTOCOLS)]
    return enrol(
        participants, scans, problems, groups, source["on_problem"], tables, unasked=reasons
    )


def _read_protocols(path: Path) -> dict[str, dict[str, float]]:
    if not os.path.isfile(path):
        msg = f"{path}: no such table. It belongs to the release: copy it there."
        raise DatasetError(msg)
    return protocol_fields(read_rows(path), str(path))


def _find_scan(
    folder: Path, protocols: Mapping[str, Mapping[str, float]], number: str, site: pd.Series
) -> tuple[Scan | None, list[str]]:
    """Find the files of a subject; also give everything that stands in the way."""
    t1w, volumes = folder / "t1" / "defaced_mprage.nii", folder / "rsfmri"
    problems = [f"{path} is not there" for path in (t1w, volumes) if not os.path.exists(path)]
    protocol = protocols.get(number, {})
    tr = protocol.get("RepetitionTime")
    if tr is None:
        problems.append(f"protocol {number} has no TR in {PROTOCOLS}")
    elif not same_repetition_time(tr, site["repetition_time"]):
        problems.append(
            f"protocol {number} has a TR of {tr:g} s, the sites table {site['repetition_time']:g} s"
        )
    if problems or tr is None:
        return None, problems
    return Scan(str(volumes), (), tr, t1w=str(t1w), metadata=protocol), problems
