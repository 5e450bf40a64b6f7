"""The parts of the page, one module each: what of the findings to show, and in which words."""
