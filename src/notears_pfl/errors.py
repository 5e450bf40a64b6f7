"""The errors a user can act on."""


class PflError(Exception):
    """Base class of all errors that this package raises for the user."""


class ConfigError(PflError, ValueError):
    """The configuration, or one of its tables, describes a study that cannot be run."""


class TableError(PflError, ValueError):
    """A table on disk lacks information that its reader needs."""


class ImageError(PflError, ValueError):
    """An image on disk cannot be read, or is not what its reader needs."""


class DatasetError(PflError, ValueError):
    """A dataset on disk does not follow BIDS."""


class MachineError(PflError):
    """The machine failed, not the data: the job fails and can be run again."""


class StorageError(MachineError, OSError):
    """A file cannot be read or written: disk full, broken or offline, or access denied."""


class OutOfMemoryError(MachineError, MemoryError):
    """A job needs more memory than it has."""


class CohortError(PflError, ValueError):
    """The available subjects do not make up the requested study."""


class InputError(PflError, ValueError):
    """An estimator cannot be fitted to the given arrays or with the given settings."""


class DoubtfulFitWarning(UserWarning):
    """A fit is complete, but something about its samples or its path makes its result doubtful."""


class NotConvergedWarning(UserWarning):
    """The solver stopped before the residuals were small; the result reports their size."""


class SignalError(PflError, ValueError):
    """A measured signal, or the metadata in its sidecar, cannot be processed."""


class FederatedError(PflError, RuntimeError):
    """A federated fit cannot start or continue, or its result cannot be trusted."""
