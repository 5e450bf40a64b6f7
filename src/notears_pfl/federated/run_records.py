"""Records of a site's runs: the rules in force at the time, and what was released before."""

from dataclasses import dataclass
from pathlib import Path

from notears_pfl.federated.ledger import AppendOnlyTable, read_append_only, read_ledger
from notears_pfl.federated.privacy import Noise
from notears_pfl.federated.site_rules import RefusedError, SiteRules
from notears_pfl.io.atomic import whole_file

LEDGER, RUNS = "ledger.tsv", "runs.tsv"
NOISE = ("epsilon", "delta", "clip")
COLUMNS = ("run", "centre", "minimum_subjects", "minimum_fold_subjects", *NOISE)
# Kinds of requests whose answers are computed from the series.
REVEALING = ("describe", "step", "score")


@dataclass(frozen=True)
class RunRules:
    """The settings of a site's file when a run began, as far as the statement needs them."""

    centre: str
    minimum_subjects: int
    minimum_fold_subjects: int
    noise: Noise | None


def record_run(folder: Path, run: str, rules: SiteRules) -> None:
    """Record the rules of a run; like the ledger, the table is append-only."""
    noise = rules.noise
    strength = (noise.epsilon, noise.delta, noise.clip) if noise else ("", "", "")
    cells = (run, rules.centre, rules.minimum_subjects, rules.minimum_fold_subjects, *strength)
    table = AppendOnlyTable(folder / RUNS, COLUMNS)
    table.append(cells)
    table.close()


def read_runs(folder: Path) -> dict[str, list[RunRules]]:
    """Rules by run; a run has more than one if the site was restarted during it."""
    runs: dict[str, list[RunRules]] = {}
    if (folder / RUNS).exists():
        table = read_append_only(folder / RUNS, COLUMNS)
        for run, centre, least, least_part, *strength in table.to_numpy().tolist():
            noise = Noise(*map(float, strength)) if strength[0] else None
            runs.setdefault(run, []).append(RunRules(centre, int(least), int(least_part), noise))
    return runs


def refuse_changed_release(folder: Path, group: str, release: str) -> None:
    """Refuse to answer about a group again with different ROIs, a different scale or other data.

    Each subject is scaled by its own series of the requested ROIs, so different ROIs weight the
    subjects differently, and changed data usually differ in only a few subjects. Sums over the
    group then reveal more in combination than each does alone, down to single subjects.
    """
    path = folder / f"group-{group}_release.txt"
    if not path.exists():
        with whole_file(path) as temporary:
            temporary.write_text(release, encoding="utf-8")
    if path.read_text(encoding="utf-8") != release:
        msg = (
            f"this site has already answered about group {group!r} with different ROIs, a "
            "different scale or different data; together, both answers reveal more about single "
            f"subjects. If the site accepts this, its staff can remove {path.name} from its "
            "records."
        )
        raise RefusedError(msg)


def run_without_noise(folder: Path, group: str) -> str | None:
    """First run that released data of a group without noise, or None.

    A run whose rules were not recorded counts as a run without noise.
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
