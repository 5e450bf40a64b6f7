"""A statement for the ethics board: what each recorded run sent and what it reveals."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from notears_pfl.federated.ledger import REFUSED, read_ledger, totals
from notears_pfl.federated.message_kinds import KINDS
from notears_pfl.federated.privacy import Noise
from notears_pfl.federated.run_records import LEDGER, RunRules, read_runs
from notears_pfl.io.atomic import whole_file

MEANINGS = {
    "plan": "numbers of subjects, of samples and of effectively independent samples",
    "describe": "variance of every region, numbers of samples and of independent samples",
    "split": "an acknowledgement, no data",
    "begin": "an acknowledgement, no data",
    "step": "a matrix of weights between the regions, and one number for how well they fit",
    "score": "one sum of squared residuals per region",
    "refusal": "a sentence explaining why a request was refused",
    "lost": "a request to send the preparations again",
}


def write_statement(site: str, folder: Path) -> None:
    """Write ``statement.md`` for all runs in a site's records."""
    text = statement(read_ledger(folder / LEDGER), site, read_runs(folder))
    with whole_file(folder / "statement.md") as temporary:
        temporary.write_text(text, encoding="utf-8")


def statement(ledger: pd.DataFrame, site: str, runs: Mapping[str, Sequence[RunRules]]) -> str:
    """Say in plain words what left a site, what stayed, and what the centre can learn."""
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
        "## What stayed at the site",
        "",
        "Images, time series, names, ages, diagnoses and all other data of individual people.",
        "",
        *_refused(refused),
        *_cut_off(ledger.attrs.get("cut_off", 0)),
        "## What the centre can learn",
    ]
    # Each run is judged by the site's file as it was then, not as it is today.
    by_rules: dict[RunRules | None, list[str]] = {}
    for run in ledger["run"].unique():
        for rules in runs.get(run, [None]):
            by_rules.setdefault(rules, []).append(run)
    for rules, names in by_rules.items():
        lines += ["", *_section(ledger[ledger["run"].isin(names)], rules)]
    return "\n".join(lines) + "\n"


def _refused(refused: pd.DataFrame) -> list[str]:
    """List the refused requests, which no fit needs."""
    lines = [
        "",
        "## Refused requests",
        "",
        "Of the requests that the network software (NVFLARE) supports, the site answers only those "
        "that start, follow and end a fit, and only if they come from its own centre. All other "
        "requests are refused and recorded: commands, files, logs, settings, shutdown, restart, "
        "and anything that another hospital asks for. After a thousand refusals in one process, "
        "only every doubling of their number is recorded.",
        "",
    ]
    if refused.empty:
        return [*lines, "None were made.", ""]
    counts = refused["kind"].value_counts(sort=False)
    rows = [f"- {str(kind).removeprefix(REFUSED).strip()}: {n}" for kind, n in counts.items()]
    return [
        *lines,
        f"Refusals recorded: {len(refused)}. Find out who made these requests:",
        "",
        *rows,
        "",
    ]


def _cut_off(n_lines: int) -> list[str]:
    if not n_lines:
        return []
    lines = "1 line of the ledger was" if n_lines == 1 else f"{n_lines} lines of the ledger were"
    return [
        f"{lines} cut off because the disk was full. Such messages were refused; none left the "
        "site.",
        "",
    ]


def _section(ledger: pd.DataFrame, rules: RunRules | None) -> list[str]:
    """Say what the centre can learn from runs under the same rules."""
    n_runs, out = ledger["run"].nunique(), ledger[ledger["direction"] == "out"]
    title = "rules not recorded" if rules is None else f"centre {rules.centre}"
    lines = [f"### {_when(ledger)}, {n_runs} run(s), {title}", ""]
    if rules is None:
        lines += [
            "The site's settings at the time are not known, so these runs are treated as runs "
            "without noise.",
            "",
        ]
    else:
        least = rules.minimum_subjects
        lines += [f"The site did not answer about groups of fewer than {least} subjects.", ""]
    groups = _named(out.loc[out["kind"] == "step", "group"])
    if not groups:
        return [
            *lines,
            "No weights were sent. The centre knows the variances and counts if it asked for them.",
        ]
    if rules is not None and rules.noise is not None:
        return [*lines, _noisy(groups, rules.noise)]
    parts = _named(out.loc[out["kind"] == "split", "group"])
    least_part = "an unknown number of" if rules is None else rules.minimum_fold_subjects
    return [*lines, _exact(groups), *(["", _parts(parts, least_part)] if parts else [])]


def _exact(groups: str) -> str:
    return (
        f"The exact covariance matrix of the regions, averaged over the group's subjects, for "
        f"{groups}: one round of weights is enough to compute it, and the centre does so to decide "
        "which connections exist and in which direction. The matrix summarises the group, "
        "not one person, but it is not anonymous in a strict sense: anyone who knows the series of "
        "all subjects but one can compute the remaining subject's covariance from it. No noise was "
        "added. As a result, data sent with noise in other runs are not protected by that noise."
    )


def _parts(groups: str, least: int | str) -> str:
    return (
        f"For cross-validation, the subjects of {groups} were also divided into parts (thirds, in "
        "the order of the table), and the exact covariance of each part can be computed in the "
        f"same way. Each part summarises at least {least} subjects; no cut divides a subject."
    )


def _noisy(groups: str, noise: Noise) -> str:
    return (
        f"The covariance matrix of the regions with noise, for {groups}. The noise was drawn once "
        f"and used in every round. It provides (ε, δ) = ({noise.epsilon:g}, {noise.delta:g}) "
        "differential privacy for the replacement of one subject by another; each subject's second "
        f"moments were scaled down to a norm of at most {noise.clip:g}. Everything sent in these "
        "runs was computed from that matrix and from the numbers of subjects and samples, which "
        "are treated as public."
    )


def _named(groups: "pd.Series[str]") -> str:
    return ", ".join(sorted(set(groups)))


def _when(ledger: pd.DataFrame) -> str:
    return f"From {ledger['time'].min()} to {ledger['time'].max()} (UTC)"
