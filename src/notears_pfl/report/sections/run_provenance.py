"""Provenance of a run: command, versions, settings, seed, checksums, costs and convergence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from platform import platform, python_version
from typing import Any

import pandas as pd
import yaml

from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import MOST_FILES, PageTable, Section, page_table
from notears_pfl.version import __version__

PACKAGES = (
    "snakemake", "numpy", "scipy", "pandas", "scikit-learn", "nibabel", "nilearn",
    "SimpleITK", "picsl-greedy", "matplotlib", "itables",
)  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """How a page was made.

    Parameters
    ----------
    command : str
        Command of the run.
    checksums : mapping of str to str
        SHA-256 of the input files of the study, by path.
    benchmarks : DataFrame
        Cost per rule: ``rule``, ``jobs``, ``wall_s``, ``cpu_s`` and ``memory_mb``.
    """

    command: str
    checksums: Mapping[str, str]
    benchmarks: pd.DataFrame


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Versions of the installed packages where the page is made."""
    found = {"Python": python_version(), "system": platform(terse=True)}
    found["notears-pfl"] = __version__
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed here"
    return found


def provenance_record(findings: Findings, origin: Origin) -> dict[str, Any]:
    """Say the same for programs: software, command, settings, input files, and the fits."""
    return {
        "GeneratedBy": [{"Name": "notears-pfl", "Version": __version__}],
        "Command": origin.command,
        "Seed": findings.config["seed"],
        "Settings": findings.config,
        "Versions": versions(),
        "InputChecksums": {"Algorithm": "SHA-256", "Files": origin.checksums},
        "Fits": {
            group: {name: fit[name] for name in ("Converged", "Parameters", "Doubts")}
            for group, fit in findings.fits.items()
        },
    }


def provenance_section(findings: Findings, origin: Origin, not_simulated: str = "") -> Section:
    """Show how the page was made; ``not_simulated`` says how to run the simulations, if not run."""
    costs = origin.benchmarks
    return Section(
        "provenance",
        "Provenance",
        {
            "command": origin.command,
            "not_simulated": not_simulated,
            "seed": findings.config["seed"],
            "config": yaml.safe_dump(dict(findings.config), sort_keys=False, allow_unicode=True),
            "versions": versions(),
            "checksums": dict(islice(origin.checksums.items(), MOST_FILES)),
            "n_files": len(origin.checksums),
            "fits": _fits(findings),
            "samples": _samples(findings),
            "total_cpu_min": costs["cpu_s"].sum() / 60,
            "costs": page_table(
                "costs",
                f"Cost of each rule ({int(costs['jobs'].sum())} jobs)",
                costs,
                {
                    "rule": "rule", "jobs": "jobs", "wall_s": "wall time, s",
                    "cpu_s": "CPU time, s", "memory_mb": "peak memory, MB",
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
        "Convergence of the fits. The path is the continuous optimisation; the networks themselves "
        "have no cycle. Its end, or a consensus of the sites, starts the search for the orders of "
        "the regions (–: edge-wise networks do not depend on the order of sites)",
        rows,
        {
            "group": "group", "converged": "converged", "rounds": "rounds",
            "primal_residual": "primal residual", "dual_residual": "dual residual",
            "path_residual": "path residual", "h": "acyclicity h of the path",
            "acyclic_threshold": "largest weight in a cycle of the path",
            "start": "start of the search for orders",
            "reverse": "edges changed by reversing the order of sites",
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
                "unclear": sidecar["UnclearDirections"], "ties": sidecar["Ties"],
            }
            for (group, site), sidecar in findings.sidecars.items()
        ]
    )  # fmt: skip
    titles = {
        "group": "group", "site": "site", "subjects": "subjects (discovery)",
        "samples": "volumes", "effective": "effective samples", "edges": "edges",
        "unclear": "directions unclear", "ties": "gain by coupling the sites",
    }  # fmt: skip
    caption = (
        "Data behind each network; directions with a support below 90 %; what its edges gain by "
        "coupling this site to the others (log-probability per sample; negative: it loses)"
    )
    return page_table("samples", caption, rows, titles, {"effective": ".0f", "ties": "+.3f"})
