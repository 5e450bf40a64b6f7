"""Figures are written without loss, the same every time."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.sections.group_balance import balance_figure


def test_a_png_has_the_pixels_of_the_figure_and_its_resolution(tables, tmp_path):
    figure = balance_figure(tables["balance"])

    save_figure(figure, tmp_path / "figure.png")

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    with Image.open(tmp_path / "figure.png") as saved:
        assert round(saved.info["dpi"][0]) == 150
        same = np.asarray(saved) == np.asarray(canvas.buffer_rgba())[..., :3]
    assert same.all()
    assert (np.asarray(canvas.buffer_rgba())[..., 3] == 255).all()


def test_the_same_figure_gives_the_same_bytes_in_both_formats(tables, tmp_path):
    for name in "ab":
        save_figure(
            balance_figure(tables["balance"]), tmp_path / f"{name}.png", tmp_path / f"{name}.svg"
        )

    for kind in ("png", "svg"):
        first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in "ab")
        assert first == second
