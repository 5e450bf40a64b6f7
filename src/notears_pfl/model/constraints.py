"""What is known about edges beforehand: required and forbidden ones, and tiers of ROIs.

An edge is a pair (from, to) of column numbers or names, or an entry of a mask, (d, d), whose entry
(i, j) is i → j. Tiers give every ROI a number: no edge goes from a higher tier to a lower one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from notears_pfl.errors import InputError
from notears_pfl.model.coordinator import topological_order
from notears_pfl.model.problem import Mask, Order, is_acyclic

Edges: TypeAlias = Mask | Iterable[tuple[Any, Any]] | None


@dataclass(frozen=True)
class Constraints:
    """Edges that may exist, edges that exist for certain, and what comes first: (d, d) each."""

    allowed: Mask
    required: Mask
    before: Mask

    def at_sites(self, K: int) -> tuple[Mask, Mask]:
        """Edges that may exist at K sites, and those that exist for certain: two of (K, d, d)."""
        shape = (K, *self.allowed.shape)
        return np.broadcast_to(self.allowed, shape), np.broadcast_to(self.required, shape)

    def order(self, order: Order) -> Order:
        """Order nearest to a given one in which ROIs come before others as they must."""
        if not self.before.any():
            return order
        return topological_order(self.before, np.argsort(order).astype(float))


def free_constraints(d: int) -> Constraints:
    """Return the constraints of d ROIs about which nothing is known."""
    nothing = np.zeros((d, d), dtype=bool)
    return Constraints(~np.eye(d, dtype=bool), nothing, nothing)


def checked_constraints(
    required: Edges, forbidden: Edges, tiers: Sequence[int] | None, d: int,
    names: Sequence[str] | None,
) -> Constraints:  # fmt: skip
    """Return what is known about the edges of d ROIs, or refuse what contradicts itself."""
    must, never = (
        edge_mask(edges, word, d, names)
        for word, edges in (("required", required), ("forbidden", forbidden))
    )
    _refuse("required edges must not be forbidden", must & never, names)
    later = np.zeros((d, d), dtype=bool)
    if tiers is not None:
        level = np.asarray(tiers)
        if level.shape != (d,):
            msg = f"tiers must give a number to each of the {d} ROIs; found shape {level.shape}."
            raise InputError(msg)
        later = level[:, None] > level[None, :]
        _refuse("required edges must not go from a higher tier to a lower one", must & later, names)
    before = must | later.T
    if not is_acyclic(before):
        msg = "required edges must have no cycle, with the tiers; found one. Drop one of its edges."
        raise InputError(msg)
    return Constraints(~np.eye(d, dtype=bool) & ~never & ~before.T, must, before)


def edge_mask(edges: Edges, word: str, d: int, names: Sequence[str] | None) -> Mask:
    """Return edges as a mask, (d, d), or refuse them."""
    mask = np.zeros((d, d), dtype=bool)
    if edges is None:
        return mask
    if isinstance(edges, np.ndarray) and edges.dtype == bool:
        if edges.shape != (d, d):
            msg = f"{word} must be a mask of shape ({d}, {d}), or pairs; found shape {edges.shape}."
            raise InputError(msg)
        mask = edges.copy()
    else:
        known = {name: place for place, name in enumerate(names or ())}
        for pair in edges:
            places: list[Any] = [known.get(end, end) for end in pair]
            if len(places) != 2 or not all(_is_place(place, d) for place in places):
                msg = (
                    f"{word} edge {tuple(pair)!r}: must be a pair of ROIs, by number from 0 to "
                    f"{d - 1} or by the names of the samples' columns. Correct the pair, or pass "
                    "tables with named columns."
                )
                raise InputError(msg)
            mask[places[0], places[1]] = True
    if np.diag(mask).any():
        msg = f"{word}: an ROI cannot be its own cause; found ROI {int(np.argmax(np.diag(mask)))}."
        raise InputError(msg)
    return mask


def _is_place(place: Any, d: int) -> bool:
    return isinstance(place, int | np.integer) and bool(0 <= place < d)


def _refuse(rule: str, edges: Mask, names: Sequence[str] | None) -> None:
    if edges.any():
        i, j = np.argwhere(edges)[0].tolist()
        pair = (names[i], names[j]) if names else (i, j)
        msg = f"{rule}; found {edges.sum()}, the first {pair[0]} → {pair[1]}. Drop one of the two."
        raise InputError(msg)
