"""The SRPBS release on disk: its subjects and scans, its codes and its table of protocols."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.acquisition import same_repetition_time
from notears_pfl.errors import DatasetError
from notears_pfl.io.tables import read_rows
from notears_pfl.study.bids import own_table, participants_of
from notears_pfl.study.enrolment import Enrolment, enrol
from notears_pfl.study.headers import HeaderChecks
from notears_pfl.study.participants import UNKNOWN
from notears_pfl.study.scans import Scan

PARTICIPANTS, PROTOCOLS = "participants.tsv", "MRI_protocols_rsMRI.tsv"
SEX = {"1": "M", "2": "F"}
HAND = {"1": "R", "2": "L", "0": "A"}
# First word of the rows in the table of protocols, and the BIDS name of the field.
FIELDS = {"TR": "RepetitionTime", "TE": "EchoTime", "Flip": "FlipAngle"}
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def enrol_release(
    source: Mapping[str, Any],
    sites: pd.DataFrame,
    sites_table: str,
    groups: tuple[str, str],
    headers: HeaderChecks,
) -> Enrolment:
    """Enrol the subjects of the release whose site is in the sites table.

    For other sites the slice order is unknown. A scan's ``bold`` is the folder of its volumes, its
    ``metadata`` its entry in the table of protocols.
    """
    root = Path(source["dataset"])
    path = str(root / PARTICIPANTS)
    table, row_problems = participants_of(own_table(path, source), path, source, "", groups)
    protocols = _read_protocols(root / PROTOCOLS)
    participants = with_bids_codes(table.drop(columns="folder"))
    if "protocol" not in participants:
        msg = f"{root / PARTICIPANTS}: column protocol is missing. Use the table of the release."
        raise DatasetError(msg)
    # A blank site is a problem to report, not a site outside the study.
    elsewhere = ~participants["site"].isin([*sites.index, UNKNOWN])
    scans: dict[str, list[Scan]] = {}
    problems: dict[str, list[str]] = {}
    rows = zip(
        participants.index, participants["participant_id"], table["folder"], participants["site"],
        participants["protocol"].astype("string").str.removesuffix(".0"), strict=True,
    )  # fmt: skip
    for row, who, folder, site, number in rows:
        problems[who] = row_problems.get(row, [])
        if site not in sites.index:
            continue
        scan, found = _find_scan(
            root / "data" / folder, protocols, str(number), sites.loc[site], headers
        )
        problems[who] = [*problems[who], *found]
        if scan:
            scans[who] = [scan]
    reasons = ("site " + participants["site"] + f" is not in {sites_table}").where(elsewhere, "")
    tables = [str(root / PARTICIPANTS), str(root / PROTOCOLS)]
    return enrol(
        participants, scans, problems, groups, source["on_problem"], tables, outside_study=reasons
    )


def _read_protocols(path: Path) -> dict[str, dict[str, float]]:
    if not os.path.isfile(path):
        msg = f"{path}: no such table. It is part of the release: copy it there."
        raise DatasetError(msg)
    return protocol_fields(read_rows(path), str(path))


def _find_scan(
    folder: Path,
    protocols: Mapping[str, Mapping[str, float]],
    number: str,
    site: pd.Series,
    headers: HeaderChecks,
) -> tuple[Scan | None, list[str]]:
    """Find the files of a subject; also return all problems."""
    t1w, volumes = str(folder / "t1" / "defaced_mprage.nii"), str(folder / "rsfmri")
    problems = headers.t1w(t1w) if os.path.exists(t1w) else [f"{t1w} does not exist"]
    problems += (
        headers.volumes(volumes) if os.path.isdir(volumes) else [f"{volumes} does not exist"]
    )
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
    return Scan(volumes, (), tr, t1w=t1w, metadata=protocol), problems


def with_bids_codes(participants: pd.DataFrame) -> pd.DataFrame:
    """Replace the release's codes of sex and handedness by the letters that BIDS uses."""
    codes = {"sex": SEX, "hand": HAND}
    present = {name: table for name, table in codes.items() if name in participants}
    return participants.assign(
        **{
            name: participants[name].map(lambda v, table=table: table.get(_code(v), v))
            for name, table in present.items()
        }
    )


def protocol_fields(rows: Sequence[Sequence[str]], name: str) -> dict[str, dict[str, float]]:
    """Read the transposed table of protocols: sidecar fields by protocol number.

    After a title, the row ``Protocol #`` gives the numbers, and each further row one quantity. The
    row's name gives the unit of a time, seconds or milliseconds; "2,500" s means 2.5 s.
    """
    labels = [row[0].strip() if row else "" for row in rows]
    heads = [i for i, label in enumerate(labels) if label.lower().startswith("protocol")]
    quantities = {
        field: i
        for field, start in ((field, start) for start, field in FIELDS.items())
        for i, label in enumerate(labels)
        if re.match(rf"{start}\b", label, re.IGNORECASE)
    }
    if not heads or "RepetitionTime" not in quantities:
        msg = (
            f"{name}: rows 'Protocol #' and 'TR (s)' are needed, found "
            f"{', '.join(label for label in labels if label)}. Use the table of the release."
        )
        raise DatasetError(msg)
    numbers = [cell.strip() for cell in rows[heads[0]][1:]]
    protocols: dict[str, dict[str, float]] = {number: {} for number in numbers if number}
    for field, i in quantities.items():
        for number, cell in zip(numbers, rows[i][1:], strict=False):
            value = _quantity(cell, labels[i])
            if number and value is not None:
                protocols[number][field] = value
    return protocols


def _quantity(cell: str, label: str) -> float | None:
    """Read the number in a cell, in seconds or degrees; None if there is none."""
    found = _NUMBER.search(cell.replace(",", "." if "(s)" in label.replace(" ", "") else ""))
    if not found:
        return None
    return float(found[0]) / (1000 if "ms" in label.lower() else 1)


def _code(value: object) -> str:
    return str(value).removesuffix(".0")
