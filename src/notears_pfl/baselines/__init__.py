"""Methods by others that the estimator is compared with, written from their papers."""

from notears_pfl.baselines.notears import BaselineFit, notears, notears_average
from notears_pfl.baselines.notears_admm import notears_admm

__all__ = ["BaselineFit", "notears", "notears_admm", "notears_average"]
