"""The cohort: quality control, exclusions, discovery and validation sets, and their samples."""
