"""The report: sections with their figures and captions, and the pages that show them."""
