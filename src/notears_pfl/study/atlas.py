"""The atlas of a study: its regions, and what it is called, by whom, and in which space."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.geometry import TEMPLATE_SPACE

# Only the tables of AAL have it.
AAL_COLUMN = "aal_code"
AUTO = "auto"


@dataclass(frozen=True)
class AtlasDescription:
    """What file names, methods and messages say of an atlas.

    Parameters
    ----------
    family : str
        ``AAL``, ``surrogate`` (regions grown around a table's coordinates) or ``other``.
    name : str
        The entity ``seg-`` of file names: ``AAL116``, ``surrogate116``, ``Schaefer100``.
    title : str
        Its name within a sentence, such as "the AAL atlas".
    citation : str
        Key of a reference that the report knows, or a citation as text, or empty.
    space : str
        Space of its image and coordinates, named as in TemplateFlow; empty if unknown.
    """

    family: str
    name: str
    title: str
    citation: str
    space: str


AAL = AtlasDescription("AAL", "AAL", "the AAL atlas", "tzourio2002aal", "MNIColin27")


@dataclass(frozen=True)
class Atlas:
    """The regions of a study.

    Parameters
    ----------
    origin : str
        ``surrogate``, ``nilearn``, or the path of an image.
    table : DataFrame
        All regions, indexed by abbreviation, in the atlas's order.
    """

    origin: str
    description: AtlasDescription
    table: pd.DataFrame

    @property
    def name(self) -> str:
        """Its name in file names."""
        return self.description.name

    @property
    def record(self) -> dict[str, str]:
        """The description, for rules and the report."""
        return asdict(self.description)

    @property
    def rois(self) -> list[str]:
        """All regions, in the atlas's order."""
        return self.table.index.tolist()

    @property
    def selected(self) -> list[str]:
        """The regions that the networks include."""
        return self.table.index[self.table["selected"]].tolist()

    @property
    def coordinates(self) -> list[list[float]]:
        """MNI coordinates of all regions, mm."""
        return self.table[["x", "y", "z"]].to_numpy().tolist()

    @property
    def codes(self) -> list[int]:
        """Codes of the regions in the image, if the table has them; the surrogate counts from 1."""
        if self.description.family == "surrogate":
            return []
        return self.column("code") or self.column(AAL_COLUMN)

    def column(self, name: str) -> list[Any]:
        """Return a column of the table of regions, or an empty list if there is none."""
        return self.table[name].tolist() if name in self.table else []


def read_atlas(settings: Mapping[str, Any], kind: str, table: pd.DataFrame) -> Atlas:
    """Atlas by ``rois`` of the configuration: AAL, its surrogate for the phantom, or another.

    ``kind`` is ``source.kind``; ``table`` holds the regions, indexed by abbreviation.
    """
    origin = settings["atlas"]
    if origin == AUTO:
        origin = "surrogate" if kind == "phantom" else "nilearn"
    given = {
        key: settings[key]
        for key in ("name", "title", "citation", "space")
        if settings.get(key, AUTO) != AUTO
    }
    known = _aal(len(table)) if AAL_COLUMN in table else _other(str(settings["table"]), given)
    description = AtlasDescription(**{**asdict(known), **given})
    if origin == "surrogate":
        description = _surrogate(description, len(table))
    return Atlas(origin, description, table)


def _aal(n: int) -> AtlasDescription:
    return AtlasDescription(**{**asdict(AAL), "name": f"{AAL.name}{n}"})


def _other(table: str, given: Mapping[str, str]) -> AtlasDescription:
    """Describe an atlas by its name, or by the name of its table."""
    name = given.get("name") or re.sub(r"[^A-Za-z0-9]", "", Path(table).stem) or "atlas"
    return AtlasDescription("other", name, f"the {name} atlas", "", "")


def _surrogate(original: AtlasDescription, n: int) -> AtlasDescription:
    """Describe the regions grown around the coordinates of an atlas, in the template's space."""
    return AtlasDescription(
        "surrogate",
        f"surrogate{n}",
        f"a surrogate parcellation around the coordinates of {original.title}",
        original.citation,
        TEMPLATE_SPACE,
    )
