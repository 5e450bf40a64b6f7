"""The engines of a subject, with a folder of their own while they work.

Engines are imported only by the rules that use them, nipype and its programs only where a setting
asks for them: loading them takes longer than cleaning a subject.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from notears_pfl.errors import MachineError, PflError, StorageError

if TYPE_CHECKING:
    from notears_pfl.preproc.anatomical import AnatomicalSteps
    from notears_pfl.preproc.functional import FunctionalSteps

# A program that fails with less room than this, in bytes, failed for want of it.
LEAST_FREE = 2**20


@contextlib.contextmanager
def anatomical_engines(engine: Mapping[str, str]) -> Iterator["AnatomicalSteps"]:
    """Give the anatomical steps that the settings under ``preproc.engine`` ask for."""
    if set(engine.values()) == {"own"}:
        from notears_pfl.preproc.anatomical import AnatomicalSteps

        yield AnatomicalSteps()
        return
    from notears_pfl.preproc.external import anatomical_steps

    with _work_folder() as folder:
        yield anatomical_steps(engine, folder)


@contextlib.contextmanager
def functional_engines(engine: Mapping[str, str]) -> Iterator["FunctionalSteps"]:
    """Give the functional steps that the settings under ``preproc.engine`` ask for."""
    if set(engine.values()) == {"own"}:
        from notears_pfl.preproc.functional import FunctionalSteps

        yield FunctionalSteps()
        return
    from notears_pfl.preproc.external import functional_steps

    with _work_folder() as folder:
        yield functional_steps(engine, folder)


@contextlib.contextmanager
def _work_folder() -> Iterator[Path]:
    """Give a folder for the files of programs; a failure on a full disk is the disk's.

    Few programs say so: most leave files that are cut short, or none.
    """
    with tempfile.TemporaryDirectory() as name:
        try:
            yield Path(name)
        except MachineError:
            raise
        except PflError as error:
            if shutil.disk_usage(name).free >= LEAST_FREE:
                raise
            msg = f"{name}: the disk is full. Free some space and run again. {error}"
            raise StorageError(msg) from error
