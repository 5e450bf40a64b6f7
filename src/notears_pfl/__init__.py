"""Personalised federated Bayesian networks of multi-site resting-state fMRI."""

__version__ = "0.1.0"
