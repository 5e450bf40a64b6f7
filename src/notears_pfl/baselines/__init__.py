"""Methods by other authors, implemented from their papers, for comparison with NOTEARS-PFL."""

from notears_pfl.baselines.equivalence import ClassFit
from notears_pfl.baselines.ges import ges
from notears_pfl.baselines.granger import GrangerFit, granger
from notears_pfl.baselines.notears import BaselineFit, notears, notears_average
from notears_pfl.baselines.notears_admm import notears_admm
from notears_pfl.baselines.pc import pc

__all__ = [
    "BaselineFit",
    "ClassFit",
    "GrangerFit",
    "ges",
    "granger",
    "notears",
    "notears_admm",
    "notears_average",
    "pc",
]
