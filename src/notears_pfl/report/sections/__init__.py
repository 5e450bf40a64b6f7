"""The sections of the report, one module each: its text, its figures and their captions."""
