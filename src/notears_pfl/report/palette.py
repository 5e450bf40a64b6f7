"""Colours and marks of all figures, distinguishable with all common types of colour blindness."""

from collections.abc import Iterable

# Okabe and Ito's palette.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip

# Text and positive weights; secondary marks.
INK, GREY = "#222222", "#8c8c8c"
# Colour and marker of patients and of controls; groups never differ by colour alone.
GROUP_LOOKS = ((VERMILION, "^"), (BLUE, "o"))
# With more sites than this, figures have a row for each, and the page links networks' figures.
MANY_SITES = 12
# Vermilion is reserved for arrows.
LOBES = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, GREY)


def lobe_colours(lobes: Iterable[str]) -> dict[str, str]:
    """Colour of each lobe, in order of first appearance; after seven lobes the colours repeat."""
    return {lobe: LOBES[i % len(LOBES)] for i, lobe in enumerate(dict.fromkeys(lobes))}
