"""Lists of batches as rules write them, for files that a test has made."""

from pathlib import Path

from notears_pfl.io.batches import Files, Listed, write_list
from notears_pfl.io.fingerprint import file_digest


def files_made(subjects, patterns):
    """Give the files of each subject by participant: ``{subject}`` in a pattern is its name."""
    return {
        f"sub-{who}": Files({name: p.replace("{subject}", who) for name, p in patterns.items()})
        for who in subjects
    }


def list_made(files, path):
    """List the files of each participant, which all exist."""
    rows = []
    for who, own in files.items():
        for name, file in own.items():
            size = Path(file).stat().st_size
            rows.append(Listed(who, name, file, size, file_digest(file)))
    write_list(rows, path)
