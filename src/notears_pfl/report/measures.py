"""Quality measures of a subject, as the pages name, write and judge them."""

# Quality measures: title, format, limits in the settings, and which direction is worse (0: both).
FIGURES: dict[str, tuple[str, str, tuple[str, ...], int]] = {
    "n_volumes": ("volumes", ".0f", ("min_volumes",), -1),
    "mean_fd_mm": ("mean FD, mm", ".2f", ("max_mean_fd_mm",), 1),
    "share_fd_above": ("volumes above 0.5 mm", ".0%", ("max_share_fd_above",), 1),
    "mean_dvars_percent": ("mean DVARS, %", ".2f", (), 1),
    "median_tsnr": ("median tSNR", ".0f", (), -1),
    "brain_ml": ("brain, ml", ".0f", ("min_brain_ml", "max_brain_ml"), 0),
    "head_agreement": ("head–template agreement", ".2f", ("min_head_agreement",), -1),
    "surface_correction": (
        "surface correction", ".2f", ("min_surface_correction", "max_surface_correction"), 0
    ),
    "template_agreement_affine": (
        "T1w–MNI agreement, affine", ".2f", ("min_template_agreement_affine",), -1
    ),
    "template_agreement": ("T1w–MNI agreement", ".2f", ("min_template_agreement",), -1),
    "affine_volume": ("affine volume", ".2f", ("min_affine_volume", "max_affine_volume"), 0),
    "smallest_jacobian": ("smallest Jacobian", ".2f", ("min_jacobian",), -1),
    "bold_t1w_agreement": ("BOLD–T1w agreement", ".2f", ("min_bold_t1w_agreement",), -1),
    "brain_coverage": ("brain covered", ".0%", ("min_brain_coverage",), -1),
    "degrees_of_freedom": ("degrees of freedom", ".0f", (), -1),
}  # fmt: skip
