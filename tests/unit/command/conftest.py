"""A folder to work in."""

import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in an empty folder; the data are elsewhere."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"
