"""Estimate networks: arrays in, arrays out.

A fit passes through these files, from the user's samples to the paper's equations:

estimator     NotearsPFL: settings and results
checks        refuses samples and settings that cannot be fitted
constraints   required and forbidden edges, tiers
doubts        what makes a complete fit doubtful
curve         edges against the threshold and λ
selection     chooses λ1, λ2 and κ where they are ``auto``
solver        path and refit, in rounds between coordinator and sites
orders        other orders of the ROIs, and the support of every direction
evidence      which edges exist in given orders, and their weights
coordinator   one step of the coordinator: weights in, never samples
federation    one step of a site, the local update; how requests reach the sites
problem       loss, penalties and acyclicity, with the paper's equations
"""

from notears_pfl.model.estimator import NotearsPFL

__all__ = ["NotearsPFL"]
