"""Programs that can do a step in place of our own code: one module per program."""
