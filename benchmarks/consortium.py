"""Costs of a study of 50 sites, 10,000 subjects and 400 parcels, for docs/guide/scaling.md.

    OMP_NUM_THREADS=1 python benchmarks/consortium.py [PART ...]

PART is planning, batches, storage, fit, evidence, report, federation or slurm; all of them unless
named. Each is measured by benchmarks/scale_PART.py. A row says how its value came about: measured,
or worked out from what was measured.
"""

import importlib
import sys

PARTS = (
    "planning", "batches", "storage", "fit", "evidence", "report", "federation", "slurm",
)  # fmt: skip


def main() -> None:
    """Print the rows as a table separated by tabs, each as soon as it is known."""
    print("part", "sites", "subjects", "ROIs", "quantity", "value", "unit", "how", sep="\t")
    for part in sys.argv[1:] or PARTS:
        if part not in PARTS:
            sys.exit(f"{part!r} is none of the parts: {', '.join(PARTS)}.")
        for row in importlib.import_module(f"scale_{part}").rows():
            *size, quantity, value, unit, how = row
            cells = ["" if cell is None else cell for cell in size]
            print(*cells, quantity, f"{value:.3g}", unit, how, sep="\t", flush=True)


if __name__ == "__main__":
    main()
