"""The plan of a study: its configuration, its subjects and their data, the files of each stage."""
