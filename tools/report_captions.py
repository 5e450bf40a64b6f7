"""Snakemake's captions in workflow/report, made from the captions of the report's own page.

``python tools/report_captions.py`` rewrites them.
"""

import re
import textwrap
from pathlib import Path

from notears_pfl.io.atomic import whole_file
from notears_pfl.report import study_page
from notears_pfl.report.sections import (
    certainty,
    cohort_flow,
    group_balance,
    method_comparison,
    nodes,
    phantom_truth,
    simulations,
    site_networks,
    subject_quality,
)

SOURCES = (
    certainty, cohort_flow, group_balance, method_comparison, nodes, phantom_truth, simulations,
    site_networks, subject_quality, study_page,
)  # fmt: skip
FOLDER = Path("workflow/report")
# What Snakemake knows about a figure. It does not know numbers of subjects.
WORDS = {
    "group": "{{ snakemake.wildcards.group }}",
    "whose": "{{ snakemake.wildcards.group }}",
    "experiment": "{{ snakemake.wildcards.experiment }}",
    "patients": "{{ snakemake.params.groups[0] }}",
    "controls": "{{ snakemake.params.groups[1] }}",
    "n_sites": "{{ snakemake.params.sites | length }}",
    "n": "",
    "smallest": "the setting evidence.smallest_difference",
}


def report_captions() -> dict[str, str]:
    """Text of every caption file by its name, which is the caption's key."""
    captions = {name: caption for source in SOURCES for name, caption in source.CAPTIONS.items()}
    return {
        f"{name}.rst": _wrapped(f"{filled.text} {filled.conclude}".rstrip())
        for name, caption in captions.items()
        for filled in (caption.filled(**WORDS),)
    }


def _wrapped(text: str) -> str:
    """Break lines between words, but not within an expression of Snakemake's."""
    whole = re.sub(r"{{.*?}}", lambda found: found[0].replace(" ", "\0"), text)
    return textwrap.fill(whole, 98, break_on_hyphens=False).replace("\0", " ") + "\n"


def main() -> None:
    """Rewrite the caption files and remove those without a caption."""
    captions = report_captions()
    for path in FOLDER.glob("*.rst"):
        if path.name not in captions:
            path.unlink()
    for name, text in captions.items():
        with whole_file(FOLDER / name) as temporary:
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
