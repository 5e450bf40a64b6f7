"""Cost of a study by the number of regions: CPU, memory and size of the report.

    OMP_NUM_THREADS=1 python benchmarks/atlas_cost.py FOLDER [--regions 400] [--cores 1]

FOLDER is made; it must not exist. The study starts from ROI series: five sites, six patients and
six controls at each, 200 volumes, from linear models on sparse acyclic networks in which 20 of the
edges differ between the groups. Regions are points on two half ellipsoids, in seven networks. The
whole workflow runs on it, with few draws in the evidence and in the comparison.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from notears_pfl.seeds import stream

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from run_cost import rule_costs, stage_costs  # noqa: E402

SEED = 20230
SITES, GROUPS, PER_GROUP, N_VOLUMES = ("COI", "KUT", "UTO", "HKH", "HUH"), ("MDD", "HC"), 6, 200
NETWORKS = ("Vis", "SomMot", "DorsAttn", "SalVentAttn", "Limbic", "Cont", "Default")
# Edges per region, and edges that only one of the groups has.
DENSITY, DIFFERENT = 1.0, 20
FEW_DRAWS = {"permutations": 19, "weight_permutations": 999, "bootstraps": 10}


def regions(n: int) -> pd.DataFrame:
    """Table of ``n`` regions: even points on half ellipsoids, networks from back to front."""
    half = np.arange(n // 2) + 0.5
    height, turn = 1 - half / (n // 2), np.pi * (1 + 5**0.5) * half
    ring = np.sqrt(1 - height**2)
    left = np.column_stack([-np.abs(ring * np.cos(turn)) * 60 - 4, ring * np.sin(turn) * 90 - 15])
    left = np.column_stack([left, height * 70])
    place = np.argsort(np.argsort(left[:, 1])) * len(NETWORKS) // len(left)
    rows = []
    for side, sign in (("LH", 1), ("RH", -1)):
        for number, ((x, y, z), network) in enumerate(zip(left, place, strict=True), start=1):
            name = f"{side}.{NETWORKS[network]}.{number}"
            rows.append((name, f"{side} {NETWORKS[network]} {number}", NETWORKS[network],
                         round(sign * x, 1), round(y, 1), round(z, 1), True))  # fmt: skip
    table = pd.DataFrame(rows, columns=["abbreviation", "name", "lobe", "x", "y", "z", "selected"])
    table.insert(0, "index", range(1, len(table) + 1))
    return table


def draw_network(d: int, rng: np.random.Generator, n_edges: int) -> NDArray[np.float64]:
    """Weights (d, d) of an acyclic network: entry (i, j) is i -> j, and i comes before j."""
    order = rng.permutation(d)
    weights = np.zeros((d, d))
    pairs = np.column_stack(np.triu_indices(d, 1))[rng.permutation(d * (d - 1) // 2)[:n_edges]]
    weights[order[pairs[:, 0]], order[pairs[:, 1]]] = rng.uniform(0.4, 0.7, n_edges) * rng.choice(
        [-1, 1], n_edges
    )
    return weights


def write_study(folder: Path, d: int) -> None:
    """Write settings, tables and series."""
    shutil.copytree(ROOT / "config", folder / "config")
    table = regions(d)
    table.to_csv(folder / "config/regions.tsv", sep="\t", index=False)
    weights = draw_network(d, stream(SEED, "network"), int(DENSITY * d))
    edges = np.argwhere(weights)
    rng, rows, series = stream(SEED, "series"), [], {}
    for offset, group in enumerate(GROUPS):
        own = weights.copy()
        lost = edges[offset * DIFFERENT // 2 : (offset + 1) * DIFFERENT // 2]
        own[lost[:, 0], lost[:, 1]] = 0
        spread = np.linalg.inv(np.eye(d) - own)
        for site in SITES:
            for number in range(PER_GROUP):
                name = f"sub-{site}{group}{number}"
                rows.append((name, site, group))
                series[name] = rng.normal(size=(N_VOLUMES, d)) @ spread
    names = ["participant_id", "site", "group"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "participants.tsv", sep="\t", index=False)
    np.savez(folder / "series.npz", **series)
    settings = {
        "source": {
            "kind": "timeseries", "participants": "participants.tsv", "series": "series.npz",
        },
        "rois": {"table": "config/regions.tsv", "name": f"Made{d}", "n_selected": d},
        "evidence": {"quick": FEW_DRAWS},
        "comparison": {
            "n_draws": 2, "baselines": ["granger"], "granger": {"kind": "pairwise"},
            "permutations": 999, "connections": "config/published/none.tsv",
        },
    }  # fmt: skip
    (folder / "study.yaml").write_text(yaml.safe_dump(settings))


def main() -> None:
    """Make the study, run it, and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--regions", type=int, default=400)
    parser.add_argument("--cores", default="1")
    options = parser.parse_args()
    write_study(options.folder, options.regions)
    subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory",
         str(options.folder), "--configfile", str(options.folder / "study.yaml"),
         "--cores", options.cores, "--quiet"],
        check=True,
    )  # fmt: skip
    rules = rule_costs(options.folder)
    print(rules.round(1).to_string())
    print(stage_costs(rules).round(1).to_string())
    pages = sorted((options.folder / "results/report").glob("*.html"))
    for page in pages:
        print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
