"""Provenance: versions, settings, seed, command, checksums, cost per rule, certificates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import platform, python_version

import pandas as pd
import yaml

from notears_pfl.report.findings import Findings
from notears_pfl.report.page import Section
from notears_pfl.report.tables import PageTable, page_table
from notears_pfl.version import __version__

PACKAGES = (
    "snakemake", "numpy", "scipy", "pandas", "scikit-learn", "nibabel", "nilearn",
    "SimpleITK", "picsl-greedy", "matplotlib", "itables",
)  # fmt: skip
SUFFIX = ".benchmark.tsv"


@dataclass(frozen=True)
class Origin:
    """Where a page comes from.

    Parameters
    ----------
    command : str
        The command that made it.
    checksums : mapping of str to str
        SHA-256 of the files the study rests on, by path.
    benchmarks : DataFrame
        As :func:`read_benchmarks` gives it.
    """

    command: str
    checksums: Mapping[str, str]
    benchmarks: pd.DataFrame


def read_benchmarks(folder: str | Path) -> pd.DataFrame:
    """Sum up Snakemake's benchmark files below ``folder``, per rule.

    Returns
    -------
    DataFrame
        ``rule``, ``jobs``, ``wall_s`` and ``cpu_s`` (sums), ``memory_mb`` (the largest job's).
    """
    rows = []
    for path in sorted(Path(folder).rglob(f"*{SUFFIX}")):
        first = path.relative_to(folder).parts[0].removesuffix(SUFFIX)
        measured = pd.read_csv(path, sep="\t", na_values=["-", "NA"]).iloc[-1]
        rows.append(
            {
                "rule": first,
                "wall_s": measured["s"],
                "cpu_s": measured.get("cpu_time"),
                "memory_mb": measured["max_rss"],
            }
        )
    table = pd.DataFrame(rows, columns=["rule", "wall_s", "cpu_s", "memory_mb"])
    table[["wall_s", "cpu_s", "memory_mb"]] = table[["wall_s", "cpu_s", "memory_mb"]].astype(float)
    return (
        table.groupby("rule")
        .agg(
            jobs=("rule", "size"),
            wall_s=("wall_s", "sum"),
            cpu_s=("cpu_s", "sum"),
            memory_mb=("memory_mb", "max"),
        )
        .reset_index()
        .sort_values("cpu_s", ascending=False, kind="stable")
    )


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Versions of what is installed where the page is made."""
    found = {"Python": python_version(), "system": platform(terse=True)}
    found["notears-pfl"] = __version__
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed here"
    return found


def provenance_section(findings: Findings, origin: Origin) -> Section:
    """Show where the page comes from."""
    costs = origin.benchmarks
    return Section(
        "provenance",
        "Provenance",
        {
            "command": origin.command,
            "seed": findings.config["seed"],
            "config": yaml.safe_dump(dict(findings.config), sort_keys=False, allow_unicode=True),
            "versions": versions(),
            "checksums": origin.checksums,
            "fits": _fits(findings),
            "samples": _samples(findings),
            "total_cpu_min": costs["cpu_s"].sum() / 60,
            "costs": page_table(
                "costs",
                f"What each rule cost ({int(costs['jobs'].sum())} jobs)",
                costs,
                {
                    "rule": "rule", "jobs": "jobs", "wall_s": "wall time, s",
                    "cpu_s": "CPU time, s", "memory_mb": "most memory, MB",
                },
                {"wall_s": ".1f", "cpu_s": ".1f", "memory_mb": ".0f"},
            ),
        },
    )  # fmt: skip


def _fits(findings: Findings) -> PageTable:
    rows = pd.DataFrame(
        [
            {
                "group": group,
                "converged": "yes" if fit["Converged"] else "no",
                "rounds": fit["Rounds"],
                **fit["Certificate"],
                "reverse": fit["EdgesChangedByReverseSiteOrder"],
            }
            for group, fit in findings.fits.items()
        ]
    )
    return page_table(
        "certificates",
        "Certificates of convergence (– : edgewise networks do not depend on the order of sites)",
        rows,
        {
            "group": "group", "converged": "converged", "rounds": "rounds",
            "primal_residual": "primal residual", "dual_residual": "dual residual",
            "path_residual": "residual of the path", "h": "acyclicity h of the path",
            "acyclic_threshold": "acyclic above",
            "reverse": "edges changed by the reverse order of sites",
        },
        dict.fromkeys(
            ("primal_residual", "dual_residual", "path_residual", "h", "acyclic_threshold"), ".2g"
        ),
    )  # fmt: skip


def _samples(findings: Findings) -> PageTable:
    rows = pd.DataFrame(
        [
            {
                "group": group, "site": site, "subjects": sidecar["Subjects"],
                "samples": sidecar["Samples"], "effective": sidecar["EffectiveSamples"],
                "edges": int((findings.networks[group, site].to_numpy() != 0).sum()),
            }
            for (group, site), sidecar in findings.sidecars.items()
        ]
    )  # fmt: skip
    titles = {
        "group": "group", "site": "site", "subjects": "people (discovery)",
        "samples": "volumes", "effective": "effective samples", "edges": "edges",
    }  # fmt: skip
    caption = "What each network was learned from"
    return page_table("samples", caption, rows, titles, {"effective": ".0f"})
