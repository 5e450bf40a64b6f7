"""Read estimated networks: degree, overlap, site-specific connections, and what they rest on."""
