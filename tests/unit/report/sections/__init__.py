"""Tests of the sections of the report."""
