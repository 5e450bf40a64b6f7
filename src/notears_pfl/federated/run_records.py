"""Under which rules each run at a site went: what the site's file said at the time."""

from dataclasses import dataclass
from pathlib import Path

from notears_pfl.federated.ledger import AppendOnlyTable, read_append_only, read_ledger
from notears_pfl.federated.privacy import Noise
from notears_pfl.federated.site_rules import RefusedError, SiteRules
from notears_pfl.io.atomic import whole_file

LEDGER, RUNS = "ledger.tsv", "runs.tsv"
NOISE = ("epsilon", "delta", "clip")
COLUMNS = ("run", "centre", "minimum_subjects", "minimum_fold_subjects", *NOISE)
# Answers that are computed from the series.
REVEALING = ("describe", "step", "score")


@dataclass(frozen=True)
class RunRules:
    """What a site's file said when a run began, as far as others rely on it."""

    centre: str
    minimum_subjects: int
    minimum_fold_subjects: int
    noise: Noise | None


def record_run(folder: Path, run: str, rules: SiteRules) -> None:
    """Write down under which rules a run goes; like the ledger, the table only grows."""
    noise = rules.noise
    strength = (noise.epsilon, noise.delta, noise.clip) if noise else ("", "", "")
    cells = (run, rules.centre, rules.minimum_subjects, rules.minimum_fold_subjects, *strength)
    table = AppendOnlyTable(folder / RUNS, COLUMNS)
    table.append(cells)
    table.close()


def read_runs(folder: Path) -> dict[str, list[RunRules]]:
    """Rules by run; a site that was started again in a run may have more than one."""
    runs: dict[str, list[RunRules]] = {}
    if (folder / RUNS).exists():
        table = read_append_only(folder / RUNS, COLUMNS)
        for run, centre, least, least_part, *strength in table.to_numpy().tolist():
            noise = Noise(*map(float, strength)) if strength[0] else None
            runs.setdefault(run, []).append(RunRules(centre, int(least), int(least_part), noise))
    return runs


def refuse_changed_release(folder: Path, group: str, release: str) -> None:
    """Refuse to tell of a group again with other ROIs, another scale or other data.

    Each subject is scaled by its own series of the ROIs asked for, so that other ROIs weigh the
    subjects differently, and other data differ by few: sums over the group, combined, tell more
    than each of them, down to single subjects.
    """
    path = folder / f"group-{group}_release.txt"
    if not path.exists():
        with whole_file(path) as temporary:
            temporary.write_text(release, encoding="utf-8")
    if path.read_text(encoding="utf-8") != release:
        msg = (
            f"group {group!r} was answered for before, with other ROIs, another scale or other "
            f"data; both together tell more of single subjects. If the site accepts that, its "
            f"people remove {path.name} from its records."
        )
        raise RefusedError(msg)


def run_without_noise(folder: Path, group: str) -> str | None:
    """First run that told something of a group without noise; None where none did.

    A run whose rules were not recorded counts as one without noise.
    """
    if not (folder / LEDGER).exists():
        return None
    ledger, runs = read_ledger(folder / LEDGER), read_runs(folder)
    told = ledger[(ledger["direction"] == "out") & ledger["kind"].isin(REVEALING)]
    for run in told.loc[told["group"] == group, "run"].unique():
        recorded = runs.get(run, [])
        if not recorded or not all(rules.noise for rules in recorded):
            return str(run)
    return None
