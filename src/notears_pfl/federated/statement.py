"""A statement for the ethics board, from what the ledger says was sent, run by run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from notears_pfl.federated.ledger import REFUSED, read_ledger, totals
from notears_pfl.federated.message_kinds import KINDS
from notears_pfl.federated.privacy import Noise
from notears_pfl.federated.run_records import LEDGER, RunRules, read_runs
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


def write_statement(site: str, folder: Path) -> None:
    """Write ``statement.md`` for all runs in a site's records."""
    text = statement(read_ledger(folder / LEDGER), site, read_runs(folder))
    with whole_file(folder / "statement.md") as temporary:
        temporary.write_text(text, encoding="utf-8")


def statement(ledger: pd.DataFrame, site: str, runs: Mapping[str, Sequence[RunRules]]) -> str:
    """Say in plain words what left a site, what the centre can learn from it, and what stayed."""
    is_refused = ledger["kind"].str.startswith(f"{REFUSED} ")
    refused, ledger = ledger[is_refused], ledger[~is_refused]
    if ledger.empty:
        nothing = f"# What left site {site}\n\nNothing: no message was exchanged.\n"
        return nothing + "\n".join(_refused(refused))
    sent = totals(ledger[ledger["direction"] == "out"])
    received = ledger[ledger["direction"] == "in"]
    rows = [
        f"| {row.kind} | {row.messages} | {row.bytes} | {row.shapes} "
        f"| {MEANINGS.get(str(row.kind), '')} |"
        for row in sent.itertuples()
    ]
    answered = ledger[(ledger["direction"] == "out") & ledger["kind"].isin(KINDS)]
    groups = _named(answered["group"]) or "none"
    lines = [
        f"# What left site {site}",
        "",
        f"{_when(ledger)}, in {ledger['run'].nunique()} run(s), for the groups {groups}.",
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
        "Images, time series, names, ages, diagnoses and all other data of single persons.",
        "",
        *_refused(refused),
        *_cut_off(ledger.attrs.get("cut_off", 0)),
        "## What the centre can learn",
    ]
    # What holds is what the site's file said at the time of a run, not what it says today.
    by_rules: dict[RunRules | None, list[str]] = {}
    for run in ledger["run"].unique():
        for rules in runs.get(run, [None]):
            by_rules.setdefault(rules, []).append(run)
    for rules, names in by_rules.items():
        lines += ["", *_section(ledger[ledger["run"].isin(names)], rules)]
    return "\n".join(lines) + "\n"


def _refused(refused: pd.DataFrame) -> list[str]:
    """Say what others asked the engine for that has no place in a fit."""
    lines = [
        "",
        "## What was asked for and refused",
        "",
        "Of the requests that the engine knows, the site answers those that start, follow and end "
        "a fit, of its centre alone. All others are refused and recorded: commands, files, logs, "
        "settings, shutdown and restart, and whatever another hospital asks.",
        "",
    ]
    if refused.empty:
        return [*lines, "None was made.", ""]
    counts = refused["kind"].value_counts(sort=False)
    rows = [f"- {str(kind).removeprefix(REFUSED).strip()}: {n}" for kind, n in counts.items()]
    return [*lines, f"{len(refused)} such requests were made. Ask who made them:", "", *rows, ""]


def _cut_off(n_lines: int) -> list[str]:
    if not n_lines:
        return []
    lines = "1 line of the ledger was" if n_lines == 1 else f"{n_lines} lines of the ledger were"
    return [f"{lines} cut off when the disk was full. Such a message was refused: none left.", ""]


def _section(ledger: pd.DataFrame, rules: RunRules | None) -> list[str]:
    """Say what runs under the same rules told."""
    n_runs, out = ledger["run"].nunique(), ledger[ledger["direction"] == "out"]
    title = "rules not recorded" if rules is None else f"centre {rules.centre}"
    lines = [f"### {_when(ledger)}, {n_runs} run(s), {title}", ""]
    if rules is None:
        lines += ["What the site's file said is not known: taken as without noise.", ""]
    else:
        least = rules.minimum_subjects
        lines += [f"No group of fewer than {least} subjects was answered for.", ""]
    groups = _named(out.loc[out["kind"] == "step", "group"])
    if not groups:
        return [*lines, "No weights were sent. Variances and counts, if asked for, are known."]
    if rules is not None and rules.noise is not None:
        return [*lines, _noisy(groups, rules.noise)]
    parts = _named(out.loc[out["kind"] == "split", "group"])
    least_part = "an unknown number of" if rules is None else rules.minimum_fold_subjects
    return [*lines, _exact(groups), *(["", _parts(parts, least_part)] if parts else [])]


def _exact(groups: str) -> str:
    return (
        f"The exact covariance matrix of the regions, averaged over the group's subjects, of "
        f"{groups}: one round of weights suffices to compute it. It is a summary of the group, not "
        "of one person, but it is not anonymous in a strict sense: who knows the series of all "
        "subjects but one can compute that one's covariance from it. No noise was added; what was "
        "sent with noise in other runs is not protected by it."
    )


def _parts(groups: str, least: int | str) -> str:
    return (
        f"The series of {groups} were also cut into parts for cross-validation (thirds, in the "
        "order of the table), and the exact covariance of each part can be computed in the same "
        f"way: each is a summary of at least {least} subjects. Where a cut goes through the series "
        "of one subject, the mean of that series on either side can be computed, too."
    )


def _noisy(groups: str, noise: Noise) -> str:
    return (
        f"The covariance matrix of the regions with noise, of {groups}, drawn once and used in "
        f"every round: (ε, δ) = ({noise.epsilon:g}, {noise.delta:g}) differential privacy for the "
        f"replacement of one subject, whose second moments count with a norm of at most "
        f"{noise.clip:g}. All that was sent in these runs was computed from that matrix, from the "
        "number of subjects and from the number of samples, which are taken as public."
    )


def _named(groups: "pd.Series[str]") -> str:
    return ", ".join(sorted(set(groups)))


def _when(ledger: pd.DataFrame) -> str:
    return f"From {ledger['time'].min()} to {ledger['time'].max()} (UTC)"
