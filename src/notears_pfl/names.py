"""Names of sites, groups and participants: how long they may be, and when two are too alike."""

import unicodedata
from collections.abc import Iterable

# Names become parts of file names, which hold at most 255 bytes, and of certificates (64).
LONGEST_NAME = 64
# The longest name of a participant's file has some 90 characters besides.
LONGEST_ID = 128


def alike(names: Iterable[str]) -> list[list[str]]:
    """List different names that are the same but for blanks, case or Unicode form.

    Some file systems take them for one, and so do people.
    """
    spellings: dict[str, dict[str, None]] = {}
    for name in names:
        bare = "".join(unicodedata.normalize("NFKC", name).split())
        spellings.setdefault(bare.casefold(), {})[name] = None
    return [list(several) for several in spellings.values() if len(several) > 1]
