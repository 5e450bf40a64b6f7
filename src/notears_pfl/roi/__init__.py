"""Regions of interest: the atlas and the signals of its regions."""
