"""What all our interfaces share: each writes one file."""

from pathlib import Path
from typing import Any

from nipype.interfaces.base import BaseInterface, File, TraitedSpec


class OneFile(TraitedSpec):
    """The output of every step."""

    out_file = File(exists=True, desc="result")


class Step(BaseInterface):
    """A step that writes one file, named by its input ``out_file``."""

    output_spec = OneFile

    def _out(self, runtime: Any) -> Path:
        self._path = Path(runtime.cwd) / self.inputs.out_file
        return self._path

    def _list_outputs(self) -> dict[str, str]:
        return {"out_file": str(self._path)}
