"""Validate a dataset with the official BIDS validator."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from notears_pfl.errors import DatasetError

VALIDATOR = "bids-validator-deno"
# Errors shown in the message; the rest are counted.
MOST_SHOWN = 20


def validate_dataset(dataset: str | Path) -> dict[str, Any]:
    """Validate ``dataset``; refuse one with errors, count the warnings of one without."""
    # The validator is installed beside the Python interpreter that runs this.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = shutil.which(VALIDATOR, path=path)
    if command is None:
        msg = f"{VALIDATOR}: not found. Install it: pip install {VALIDATOR}"
        raise DatasetError(msg)
    run = subprocess.run(
        [command, "--format", "json", str(dataset)], capture_output=True, text=True, check=False
    )
    try:
        report = json.loads(run.stdout)
    except json.JSONDecodeError:
        msg = f"{dataset}: {VALIDATOR} gave no verdict (exit code {run.returncode}): {run.stderr}"
        raise DatasetError(msg) from None
    issues = report["issues"]["issues"]
    errors = [issue for issue in issues if issue["severity"] == "error"]
    if errors:
        shown = [_line(issue) for issue in errors[:MOST_SHOWN]]
        more = [f"… and {len(errors) - MOST_SHOWN} more"] if len(errors) > MOST_SHOWN else []
        msg = f"{dataset} is not valid BIDS: {len(errors)} errors.\n" + "\n".join([*shown, *more])
        raise DatasetError(msg)
    warnings = Counter(i["code"] for i in issues if i["severity"] == "warning")
    return {
        "Validator": VALIDATOR,
        "SchemaVersion": report["summary"]["schemaVersion"],
        "Files": report["summary"]["totalFiles"],
        "Subjects": len(report["summary"]["subjects"]),
        "Errors": 0,
        "Warnings": dict(sorted(warnings.items())),
    }


def _line(issue: dict[str, Any]) -> str:
    details = [
        issue.get("location"),
        issue["code"],
        issue.get("subCode"),
        issue.get("issueMessage"),
    ]
    return "  " + ": ".join(str(detail) for detail in details if detail)
