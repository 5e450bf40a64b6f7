"""Steps that ended before they converged, in words."""

import warnings
from collections.abc import Mapping
from typing import Any

from notears_pfl.errors import NotConvergedWarning

# Steps that may end before they converge, by the figure that says so.
UNCONVERGED = {
    "tissue_model_converged": "The model of the T1w image's tissues and bias did not converge",
    "motion_converged": "The estimate of head motion did not converge in every volume",
    "bold_t1w_converged": "The registration of BOLD to T1w did not converge",
}


def warned_cautions(figures: Mapping[str, Any]) -> list[str]:
    """Warn of the steps that did not converge, and give the warnings.

    Such a result is often good: its quality figures and pictures tell.
    """
    cautions = [
        f"{what}: look at the subject's figures."
        for name, what in UNCONVERGED.items()
        if figures.get(name) is False
    ]
    for caution in cautions:
        warnings.warn(caution, NotConvergedWarning, stacklevel=2)
    return cautions
