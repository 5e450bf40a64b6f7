"""AAL is taken from where nilearn keeps it; without a network the message says what to do."""

import nibabel as nib
import numpy as np
import pytest

from notears_pfl.errors import DatasetError
from notears_pfl.roi.atlas import fetch_aal

LABELS = """<atlas><data>
<label><index>2001</index><name>Precentral_L</name></label>
<label><index>2002</index><name>Precentral_R</name></label>
</data></atlas>"""


def test_a_copy_that_nilearn_has_is_used_with_its_labels(tmp_path):
    folder = tmp_path / "aal_SPM12/aal/atlas"
    folder.mkdir(parents=True)
    (folder / "AAL.xml").write_text(LABELS)
    nib.save(nib.Nifti1Image(np.zeros((2, 2, 2), np.int16), np.eye(4)), folder / "AAL.nii")

    image, labels = fetch_aal(tmp_path)

    assert image == folder / "AAL.nii"
    assert labels == {2001: "Precentral_L", 2002: "Precentral_R"}


def test_without_a_network_the_message_says_what_to_do(tmp_path, monkeypatch):
    # Nothing listens there: every request ends at once.
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")

    with pytest.raises(DatasetError, match=r"could not be downloaded .*name it in rois\.atlas"):
        fetch_aal(tmp_path)
