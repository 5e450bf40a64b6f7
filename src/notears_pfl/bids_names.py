"""File names of BIDS: what they say, and which sidecar belongs to which image."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from notears_pfl.errors import DatasetError

_ENTITY = re.compile(r"([a-zA-Z0-9]+)-([a-zA-Z0-9+]+)")
# Entities that count: run-1 and run-01 are the same run.
_COUNTING = ("run", "echo")


@dataclass(frozen=True)
class BidsFile:
    """A file with a BIDS name: ``sub-01_task-rest_bold.nii.gz`` has two entities and a suffix."""

    path: str
    entities: Mapping[str, str]
    suffix: str
    extension: str

    @classmethod
    def parse(cls, path: str | PurePath) -> "BidsFile | None":
        """Take a file's name apart; None where it is not a name of BIDS."""
        stem, dot, extension = PurePath(path).name.partition(".")
        *pairs, suffix = stem.split("_")
        matches = [_ENTITY.fullmatch(pair) for pair in pairs]
        if not all(matches) or not suffix.isalnum():
            return None
        entities = {m[1]: _label(m[1], m[2]) for m in matches if m}
        return cls(str(path), entities, suffix, dot + extension)

    @property
    def run(self) -> int:
        """Number of the run; 0 where the name has none."""
        label = self.entities.get("run", "0")
        if not label.isdigit():
            msg = f"{self.path} is of run-{label}, but BIDS counts runs by number. Rename the file"
            raise DatasetError(msg)
        return int(label)

    def has(self, wanted: Mapping[str, object]) -> bool:
        """Tell whether the name has every entity of ``wanted`` with its label."""
        return all(self.entities.get(key) == _label(key, str(v)) for key, v in wanted.items())

    def describes(self, image: "BidsFile") -> bool:
        """Tell whether this sidecar's name applies to ``image`` (inheritance principle, rule 3).

        Same suffix, and no entity that the image has not, or has otherwise.
        """
        return self.suffix == image.suffix and image.has(self.entities)


def _label(key: str, label: str) -> str:
    return str(int(label)) if key in _COUNTING and label.isdigit() else label
