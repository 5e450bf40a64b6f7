"""From raw images to clean ROI signals: one module per step, with its options and its sentence."""
