"""Bring a user's data into the shape the workflow works on."""
