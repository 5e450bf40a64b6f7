"""Estimate networks: arrays in, arrays out."""

from notears_pfl.model.estimator import NotearsPFL

__all__ = ["NotearsPFL"]
