"""Personalised federated Bayesian networks of multi-site resting-state fMRI."""

from typing import TYPE_CHECKING, Any

from notears_pfl.version import __version__

if TYPE_CHECKING:
    from notears_pfl.model.estimator import NotearsPFL

__all__ = ["NotearsPFL", "__version__"]


def __getattr__(name: str) -> Any:
    """Import the estimator when it is asked for: most scripts do without SciPy."""
    if name == "NotearsPFL":
        from notears_pfl.model.estimator import NotearsPFL

        return NotearsPFL
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
