"""The made-up study, shared by the tests of the report."""

import pytest

from .toy import blank_pictures, toy_findings, toy_tables


@pytest.fixture(scope="package")
def findings():
    return toy_findings()


@pytest.fixture(scope="package")
def pictures(findings):
    return blank_pictures(findings)


@pytest.fixture(scope="package")
def tables():
    return toy_tables()
