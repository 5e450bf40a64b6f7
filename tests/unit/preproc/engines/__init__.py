"""Outside programs."""
