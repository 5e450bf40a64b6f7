"""A study of an atlas like Schaefer's runs to its report, and nothing in it is called AAL."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from notears_pfl.cli import main
from notears_pfl.io.images import write_image

from .conftest import SERIES_GROUPS, SERIES_SITES, compare_little, new_study

NETWORKS = ("Vis", "SomMot", "DorsAttn", "SalVentAttn", "Limbic", "Cont", "Default")
READY = "config/atlases/Schaefer100.yaml"
N_PARCELS = 100
# In words, not within the letters of an embedded picture.
NAMED_AAL = re.compile(r".{0,60}(?<![A-Za-z0-9+/])AAL.{0,20}")


def write_parcels(folder):
    """Write 100 blocks of eight voxels, left ones first, and their labels in Schaefer's manner."""
    image = np.zeros((42, 24, 12), dtype=np.int16)
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[:3, 3] = [-82, -50, -20]
    rows = []
    for code in range(1, N_PARCELS + 1):
        side, place = divmod(code - 1, N_PARCELS // 2)
        i, j = 22 * side + 4 * (place % 5), 2 * (place // 5)
        image[i : i + 2, j : j + 2, 4:6] = code
        rows.append((code, f"7Networks_{'LR'[side]}H_{NETWORKS[place % 7]}_{place + 1}"))
    write_image(image, affine, folder / "parcels.nii.gz")
    pd.DataFrame(rows, columns=["index", "name"]).to_csv(
        folder / "parcels.tsv", sep="\t", index=False
    )


@pytest.fixture(scope="module")
def parcels(tmp_path_factory):
    """Run a study of series of 100 parcels to its report once."""
    study = compare_little(new_study(tmp_path_factory.mktemp("parcels")))
    write_parcels(study.path)
    files = [f"--image={study.path}/parcels.nii.gz", f"--labels={study.path}/parcels.tsv"]
    assert main(["atlas", "Schaefer100", str(study.path / "config/atlases"), *files]) == 0
    rng = np.random.default_rng(20230)
    rows = [(f"sub-{s}{g}{i}", s, g) for s in SERIES_SITES for g in SERIES_GROUPS for i in range(4)]
    columns = ["participant_id", "site", "group"]
    pd.DataFrame(rows, columns=columns).to_csv(
        study.path / "participants.tsv", sep="\t", index=False
    )
    series = {name: rng.normal(size=(110, N_PARCELS)) for name, *_ in rows}
    for x in series.values():
        x[:, 1] += 0.8 * x[:, 0]
    np.savez(study.path / "series.npz", **series)
    (study.path / "study.yaml").write_text(
        "source: {kind: timeseries, participants: participants.tsv, series: series.npz}\n"
        f"groups: {{patients: {SERIES_GROUPS[0]}, controls: {SERIES_GROUPS[1]}}}\n"
        "network: {estimator: {kappa: 1}}\n"
    )
    study.run("--configfile", str(study.path / "study.yaml"), str(study.path / READY))
    return study


def test_file_names_methods_and_pages_name_the_atlas_and_never_aal(parcels):
    results = parcels.path / "results"
    page = (results / "report/index.html").read_text()

    assert len(list(results.glob("timeseries/*_seg-Schaefer100_desc-clean_timeseries.tsv"))) == 16
    assert not list(results.rglob("*AAL*"))
    assert (
        "Time series of 100 regions of the Schaefer atlas of 100 parcels (Schaefer et al. 2018)"
        in page
    )
    assert "from network" in page
    texts = [page, *(path.read_text() for path in results.rglob("*.json"))]
    texts += [path.read_text() for path in (results / "report/subjects").rglob("*.html")]
    texts += [path.read_text() for path in (parcels.path / "logs").rglob("*.log")]
    assert [found for text in texts for found in NAMED_AAL.findall(text)] == []
    overlap = pd.read_csv(results / "analysis/overlap.tsv", sep="\t")
    assert ["LH.Vis.1", "LH.SomMot.2"] in overlap[["from", "to"]].to_numpy().tolist()


def test_the_image_is_checked_against_the_table_and_described(parcels):
    labels = "results/roi/seg-Schaefer100_dseg.nii.gz"
    # The phantom's own study, but with the image of the parcels.
    parcels.run("--configfile", str(parcels.path / READY), "--", labels)

    record = json.loads((parcels.path / labels.replace(".nii.gz", ".json")).read_text())
    assert record["name"].startswith("the Schaefer atlas of 100 parcels, from config/atlases/")
    assert record["space"] == "MNI152NLin6Asym"
    assert record["largest_offset_mm"] < 0.01
    assert len(record["codes"]) == N_PARCELS
