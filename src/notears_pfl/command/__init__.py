"""The command ``notears-pfl study``: look at data, write and check settings, run, show progress."""
