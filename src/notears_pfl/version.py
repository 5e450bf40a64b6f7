"""The version, as records name it: a package that runs from a clone need not be installed."""

__version__ = "0.1.0"
