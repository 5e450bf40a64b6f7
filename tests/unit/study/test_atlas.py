"""An atlas is called by its own name: AAL only where the table is AAL's."""

import pandas as pd
import pytest

from notears_pfl.study.atlas import read_atlas

SETTINGS = {"atlas": "auto", "table": "config/my-regions_v2.tsv"}
NAMES = ["LH.Vis.1", "RH.Vis.1"]


def regions(**columns):
    table = pd.DataFrame(
        {"x": [-9.0, 9.0], "y": 0.0, "z": 0.0, "selected": [True, False], **columns}, index=NAMES
    )
    return table.rename_axis("abbreviation")


@pytest.mark.parametrize(
    ("kind", "setting", "origin", "family", "name", "space"),
    [
        ("bids", "auto", "nilearn", "AAL", "AAL2", "MNIColin27"),
        ("timeseries", "auto", "nilearn", "AAL", "AAL2", "MNIColin27"),
        ("bids", "aal.nii", "aal.nii", "AAL", "AAL2", "MNIColin27"),
        ("phantom", "auto", "surrogate", "surrogate", "surrogate2", "MNI152NLin2009aSym"),
    ],
)
def test_a_table_with_the_codes_of_aal_is_aal(kind, setting, origin, family, name, space):
    atlas = read_atlas(SETTINGS | {"atlas": setting}, kind, regions(aal_code=[2001, 2002]))

    assert atlas.origin == origin
    assert (atlas.description.family, atlas.name) == (family, name)
    assert atlas.description.space == space
    assert "the AAL atlas" in atlas.description.title
    assert atlas.description.citation == "tzourio2002aal"
    # The surrogate is made with the numbers of the rows.
    assert atlas.codes == ([] if family == "surrogate" else [2001, 2002])


@pytest.mark.parametrize("kind", ["timeseries", "bids", "phantom"])
def test_nothing_of_another_atlas_is_called_aal(kind):
    atlas = read_atlas(SETTINGS, kind, regions())

    assert "AAL" not in str(atlas.record)
    assert "myregionsv2" in atlas.record["title"]
    assert atlas.description.citation == ""
    assert atlas.codes == []


def test_the_settings_describe_the_atlas():
    given = {
        "atlas": "s.nii", "name": "Schaefer100", "title": "the Schaefer atlas of 100 parcels",
        "citation": "schaefer2018parcellation", "space": "MNI152NLin6Asym",
    }  # fmt: skip

    atlas = read_atlas(SETTINGS | given, "bids", regions(code=[7, 9]))

    described = {key: given[key] for key in ("name", "title", "citation", "space")}
    assert atlas.record == described | {"family": "other"}
    assert atlas.codes == [7, 9]
    assert atlas.selected == ["LH.Vis.1"]
