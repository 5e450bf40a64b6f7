"""The engines of a subject, with a folder of their own while they work.

Engines are imported only by the rules that use them, nipype and its programs only where a setting
asks for them: loading them takes longer than cleaning a subject.
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from notears_pfl.preproc.anatomical import AnatomicalSteps
    from notears_pfl.preproc.functional import FunctionalSteps


@contextlib.contextmanager
def anatomical_engines(engine: Mapping[str, str]) -> Iterator["AnatomicalSteps"]:
    """Give the anatomical steps that the settings under ``preproc.engine`` ask for."""
    if set(engine.values()) == {"own"}:
        from notears_pfl.preproc.anatomical import AnatomicalSteps

        yield AnatomicalSteps()
        return
    from notears_pfl.preproc.external import anatomical_steps

    with tempfile.TemporaryDirectory() as folder:
        yield anatomical_steps(engine, Path(folder))


@contextlib.contextmanager
def functional_engines(engine: Mapping[str, str]) -> Iterator["FunctionalSteps"]:
    """Give the functional steps that the settings under ``preproc.engine`` ask for."""
    if set(engine.values()) == {"own"}:
        from notears_pfl.preproc.functional import FunctionalSteps

        yield FunctionalSteps()
        return
    from notears_pfl.preproc.external import functional_steps

    with tempfile.TemporaryDirectory() as folder:
        yield functional_steps(engine, Path(folder))
