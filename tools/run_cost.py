"""Print what the last run cost: CPU and elapsed seconds of every stage and rule.

    python tools/run_cost.py [FOLDER]

FOLDER is that of the study (the current one unless named). The costs are those of the tables that
Snakemake's ``benchmark:`` leaves in logs/; Snakemake's own share (planning, starting jobs) is not
among them. A stage is what the messages of its rules begin with.
"""

import sys
from pathlib import Path

import pandas as pd

from notears_pfl.command.stages import OTHER, stages_of_rules

ROOT = Path(__file__).parents[1]
BENCHMARK = ".benchmark.tsv"


def rule_costs(study: Path) -> pd.DataFrame:
    """Jobs, CPU seconds, elapsed seconds and peak memory of every rule that left a benchmark."""
    rows = []
    for path in sorted((study / "logs").rglob(f"*{BENCHMARK}")):
        rule = path.relative_to(study / "logs").parts[0].removesuffix(BENCHMARK)
        rows.append(pd.read_csv(path, sep="\t", na_values=["-", "NA"]).iloc[-1:].assign(rule=rule))
    if not rows:
        msg = f"{study / 'logs'}: holds no benchmarks. Run the workflow there first."
        raise FileNotFoundError(msg)
    table = pd.concat(rows).groupby("rule").agg(
        jobs=("s", "size"), cpu_s=("cpu_time", "sum"), wall_s=("s", "sum"),
        peak_mb=("max_rss", "max"),
    )  # fmt: skip
    stages = stages_of_rules(ROOT / "workflow/rules")
    table.insert(0, "stage", [stages.get(rule, OTHER) for rule in table.index])
    return table.sort_values("cpu_s", ascending=False)


def stage_costs(rules: pd.DataFrame) -> pd.DataFrame:
    """Sum the costs of rules by stage, and of all."""
    table = rules.groupby("stage").agg(
        jobs=("jobs", "sum"), cpu_s=("cpu_s", "sum"), wall_s=("wall_s", "sum"),
        peak_mb=("peak_mb", "max"),
    )  # fmt: skip
    table = table.sort_values("cpu_s", ascending=False)
    table.loc["total"] = [*table[["jobs", "cpu_s", "wall_s"]].sum(), table["peak_mb"].max()]
    return table.astype({"jobs": int})


def main() -> None:
    """Print both tables."""
    rules = rule_costs(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print(rules.round(1).to_string())
    print("\n", stage_costs(rules).round(1).to_string(), sep="")


if __name__ == "__main__":
    main()
