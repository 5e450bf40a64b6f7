"""Small images for programs, and scripts that stand in for the programs themselves."""

import sys

import numpy as np
import pytest

from notears_pfl.io.images import write_image


@pytest.fixture
def images(tmp_path, monkeypatch):
    """Give paths of a small BOLD, T1w and template image, by name."""
    monkeypatch.setenv("FSLOUTPUTTYPE", "NIFTI")
    monkeypatch.chdir(tmp_path)
    for name, shape in (("bold", (4, 4, 4, 3)), ("t1w", (4, 4, 4)), ("template", (5, 5, 5))):
        write_image(np.ones(shape, np.float32), np.eye(4), tmp_path / f"{name}.nii")
    return {name: tmp_path / f"{name}.nii" for name in ("bold", "t1w", "template")}


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Give a function that puts a program on the path: its name and its Python code."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("FSLOUTPUTTYPE", "NIFTI")

    def write(name, code):
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
        path.chmod(0o755)

    return write


@pytest.fixture
def affine():
    """Give the affine of a neurological image: x increases to the right, so FSL flips it."""
    return np.array([[3.0, 0, 0, -30], [0, 3, 0, -40], [0, 0, 4, -20], [0, 0, 0, 1]])
