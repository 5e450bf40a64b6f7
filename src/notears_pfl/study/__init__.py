"""The plan of a study: its configuration, its data, and the files of its stages."""
