"""The paper's simulations: related graphs, samples, metrics and the three experiments."""
