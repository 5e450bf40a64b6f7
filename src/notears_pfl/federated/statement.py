"""A statement for the ethics board, from what the ledger says was sent."""

from pathlib import Path

import pandas as pd

from notears_pfl.federated.ledger import read_ledger, totals
from notears_pfl.federated.rules import SiteRules
from notears_pfl.io.atomic import whole_file

MEANINGS = {
    "plan": "number of subjects, of samples, and of effectively independent samples",
    "describe": "variance of every region, number of samples",
    "split": "nothing but that it was done",
    "begin": "nothing but that it was done",
    "step": "a matrix of weights between the regions, and one number that says how well they fit",
    "score": "one sum of squared residuals per region",
    "refusal": "a sentence that says why a request was refused",
    "lost": "a request to be prepared again",
}


def write_statement(ledger: Path, site: str, rules: SiteRules, folder: Path) -> None:
    """Write ``statement.md`` for all runs in a site's ledger."""
    with whole_file(folder / "statement.md") as temporary:
        temporary.write_text(statement(read_ledger(ledger), site, rules), encoding="utf-8")


def statement(ledger: pd.DataFrame, site: str, rules: SiteRules) -> str:
    """Say in plain words what left a site, what the centre can learn from it, and what stayed."""
    if ledger.empty:
        return f"# What left site {site}\n\nNothing: no message was exchanged.\n"
    sent = totals(ledger[ledger["direction"] == "out"])
    received = ledger[ledger["direction"] == "in"]
    rows = [
        f"| {row.kind} | {row.messages} | {row.bytes} | {row.shapes} "
        f"| {MEANINGS.get(str(row.kind), '')} |"
        for row in sent.itertuples()
    ]
    groups = ", ".join(sorted(set(ledger["group"]) - {""})) or "none"
    first, last = ledger["time"].min(), ledger["time"].max()
    lines = [
        f"# What left site {site}",
        "",
        f"From {first} to {last} (UTC), in {ledger['run'].nunique()} run(s), for the groups "
        f"{groups}, to the centre whose certificate says {rules.centre}.",
        "",
        f"Sent: {len(ledger) - len(received)} messages, {sent['bytes'].sum()} bytes. "
        f"Received: {len(received)} messages, {received['bytes'].sum()} bytes.",
        "",
        "| answer to | messages | bytes | shapes | content |",
        "|---|---|---|---|---|",
        *rows,
        "",
        "## What stayed",
        "",
        "Images, time series, names, ages, diagnoses and all other data of single persons. No "
        f"group of fewer than {rules.minimum_subjects} subjects was answered for.",
        "",
        "## What the centre can learn",
        "",
        *_disclosure(set(sent["kind"]), rules),
    ]
    return "\n".join(lines) + "\n"


def _disclosure(kinds: set[str], rules: SiteRules) -> list[str]:
    if "step" not in kinds:
        return ["No weights were sent. Variances and counts, where listed above, are known."]
    if rules.noise is None:
        return [
            "The exact covariance matrix of the regions, averaged over the group's subjects: one "
            "round of weights suffices to compute it. It is a summary of the group, not of one "
            "person, but it is not anonymous in a strict sense: who knows the series of all "
            "subjects but one can compute that one's covariance from it. No noise was added.",
            *([_parts(rules)] if "split" in kinds else []),
        ]
    noise = rules.noise
    return [
        f"The covariance matrix of the regions with noise, drawn once and used in every round: "
        f"(ε, δ) = ({noise.epsilon:g}, {noise.delta:g}) differential privacy for the replacement "
        f"of one subject, whose second moments count with a norm of at most {noise.clip:g}. All "
        "that was sent was computed from that matrix, from the number of subjects and from the "
        "number of samples, which are taken as public."
    ]


def _parts(rules: SiteRules) -> str:
    return (
        "\nThe series were also cut into parts for cross-validation (thirds, in the order of the "
        "table), and the exact covariance of each part can be computed in the same way: each is a "
        f"summary of at least {rules.minimum_fold_subjects} subjects. Where a cut goes through the "
        "series of one subject, the mean of that series on either side can be computed, too."
    )
