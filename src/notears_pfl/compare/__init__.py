"""The comparison with other methods (section 5.2): the same draws, the same number of edges."""
