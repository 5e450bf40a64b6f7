"""Names of sites, groups, participants and regions: limits, and names that are too similar."""

import re
import unicodedata
from collections.abc import Iterable

# Names become parts of file names (at most 255 bytes) and of certificates (at most 64 characters).
LONGEST_NAME = 64
# In the longest file name of a participant, about 90 characters surround the id.
LONGEST_ID = 128


def abbreviation(label: str) -> str:
    """Abbreviation of a region by its label in an atlas.

    Schaefer's ``7Networks_LH_Vis_1``, which XCP-D calls ``LH_Vis_1``, becomes ``LH.Vis.1``.
    """
    short = re.sub(r"^\d+Networks_", "", label)
    return re.sub(r"[^A-Za-z0-9]+", ".", short).strip(".")


def alike(names: Iterable[str]) -> list[list[str]]:
    """List groups of names that differ only by blanks, case or Unicode form.

    Some file systems treat them as one name, and people confuse them.
    """
    spellings: dict[str, dict[str, None]] = {}
    for name in names:
        bare = "".join(unicodedata.normalize("NFKC", name).split())
        spellings.setdefault(bare.casefold(), {})[name] = None
    return [list(several) for several in spellings.values() if len(several) > 1]
