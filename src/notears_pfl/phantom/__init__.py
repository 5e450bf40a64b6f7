"""A multi-site cohort whose anatomy, movement and networks are known."""
