"""The errors a user can act on."""


class PflError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(PflError, ValueError):
    """The configuration or one of its tables asks for something that cannot be run."""


class TableError(PflError, ValueError):
    """A table on disk does not say what its reader needs."""


class ImageError(PflError, ValueError):
    """An image on disk cannot be read, or is not what its reader needs."""


class DatasetError(PflError, ValueError):
    """A dataset on disk is not what BIDS asks for."""


class MachineError(PflError):
    """The machine failed, not what it was given: the job fails, and may be run again."""


class StorageError(MachineError, OSError):
    """A file cannot be read or written: the disk is full, broken, gone, or not ours to use."""


class OutOfMemoryError(MachineError, MemoryError):
    """The memory of a job does not hold what it works on."""


class CohortError(PflError, ValueError):
    """The subjects at hand do not make the study that was asked for."""


class InputError(PflError, ValueError):
    """Arrays or settings handed to an estimator cannot be fitted."""


class NotConvergedWarning(UserWarning):
    """Rounds ended before the residuals were small; the result says how large they are."""


class SignalError(PflError, ValueError):
    """A measured signal, or what its sidecar says of it, cannot be processed."""


class FederatedError(PflError, RuntimeError):
    """A fit between hospitals cannot start, go on, or be believed."""
