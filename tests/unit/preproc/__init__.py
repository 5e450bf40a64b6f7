"""Tests of preprocessing, with a toy head of their own."""
