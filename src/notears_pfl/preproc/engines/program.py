"""Outside programs: which one does a step, a folder for its files, and what a failure means.

A program's module is imported only if a setting asks for it: loading nipype takes longer than
cleaning a subject.
"""

import contextlib
import importlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from notears_pfl.errors import ConfigError, MachineError, PflError, SignalError, StorageError
from notears_pfl.geometry import Floats
from notears_pfl.io.images import Image, read_image, write_image
from notears_pfl.io.machine import machine_error

# By step and value of its setting under ``preproc.engine``, the place of the program's function.
Known = Mapping[str, Mapping[str, str]]

# How nipype reports that a program is not installed.
NO_COMMAND = 'No command "'
# Length of the end of a program's output that a message quotes; the log has all of it.
MOST_QUOTED = 300
# A program that fails with less free space than this, in bytes, failed for lack of space.
LEAST_FREE = 2**20


@dataclass(frozen=True)
class Program:
    """A program's function for one step: arrays in, arrays out, files in ``folder`` in between.

    ``name`` is how the methods text calls it.
    """

    step: str
    name: str
    function: Callable[..., Any]
    folder: Path = Path()

    def __call__(self, *arguments: Any) -> Any:
        """Run the program; see ``_judge`` for what a failure means."""
        try:
            return self.function(self.folder, *arguments)
        except PflError:
            raise
        except (MemoryError, OSError, RuntimeError, ValueError) as error:
            raise _judge(error, self.step) from error


def program(step: str, name: str) -> Callable[[Callable[..., Any]], Program]:
    """Declare a function, whose first argument is a folder, as the program of a step."""
    return lambda function: Program(step, name, function)


@contextlib.contextmanager
def programs_for(engine: Mapping[str, str], known: Known) -> Iterator[dict[str, Program]]:
    """Programs, by step, that the settings under ``preproc.engine`` ask for; ``own`` is none."""
    chosen = _chosen(engine, known)
    if not chosen:
        yield {}
        return
    with _work_folder() as folder:
        yield {step: replace(found, folder=folder) for step, found in chosen.items()}


def program_names(engine: Mapping[str, str], known: Known) -> dict[str, str]:
    """Names of these programs, by step, for the methods text."""
    return {step: found.name for step, found in _chosen(engine, known).items()}


def write_input(
    array: Floats, affine: Floats, path: Path, *, repetition_time: float | None = None
) -> Path:
    """Write an array for a program to read, in single precision; return its path."""
    write_image(np.asarray(array, np.float32), affine, path, repetition_time=repetition_time)
    return path


def write_registration_inputs(
    folder: Path, mean_bold: Floats, affine: Floats, tissues: Floats, tissue_affine: Floats
) -> tuple[Path, Path]:
    """Write the mean BOLD image, and the tissues (3, x, y, z) at a usual T1w contrast."""
    brain = np.tensordot([0.3, 0.65, 1.0], tissues, axes=1)
    return (
        write_input(mean_bold, affine, folder / "mean_bold.nii"),
        write_input(brain, tissue_affine, folder / "tissues.nii"),
    )


def outputs_of(interface: Any, folder: Path) -> Any:
    """Run a nipype interface in ``folder``; return its outputs."""
    return interface.run(cwd=str(folder)).outputs


def read_output(path: Any) -> Image:
    """Read an image that a program should have written; SPM's lists hold one.

    Without it the program failed, not the disk.
    """
    path = only(path)
    if not Path(path).is_file():
        msg = f"{path} was not written."
        raise FileNotFoundError(msg)
    return read_image(path)


def only(path: Any) -> Any:
    """Unwrap SPM's lists of one file."""
    return path[0] if isinstance(path, list) else path


def _chosen(engine: Mapping[str, str], known: Known) -> dict[str, Program]:
    chosen = {}
    for step, places in known.items():
        name = engine[step]
        if name == "own":
            continue
        if name not in places:
            msg = f"preproc.engine.{step} is {name!r}. Choose one of own, {', '.join(places)}."
            raise ConfigError(msg)
        module, _, function = places[name].rpartition(".")
        chosen[step] = getattr(importlib.import_module(module), function)
    return chosen


def _judge(error: Exception, step: str) -> PflError:
    """Distinguish a missing program or a failed machine (stop) from a failed subject (mark it)."""
    if blamed := machine_error(error, f"The program of preproc.engine.{step}", "run"):
        return blamed
    output = " ".join(str(error).split())
    if output.startswith(NO_COMMAND):
        return ConfigError(
            f"preproc.engine.{step} needs a program that is not installed. {output} Then run "
            "again, or set the engine to own."
        )
    return SignalError(
        f"The program of preproc.engine.{step} failed: … {output[-MOST_QUOTED:]} Look at the "
        "rule's log, and leave this subject out or choose another engine."
    )


@contextlib.contextmanager
def _work_folder() -> Iterator[Path]:
    """Make a folder for the files of programs; a failure on a full disk is the disk's.

    Few programs report a full disk: most leave truncated files, or none.
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
