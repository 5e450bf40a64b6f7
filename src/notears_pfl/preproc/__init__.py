"""From raw volumes to clean signals: one module of pure functions per step."""
