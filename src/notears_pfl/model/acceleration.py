"""Anderson acceleration of a fixed-point map T ← T + F(T) (type II, with restarts)."""

import numpy as np

from notears_pfl.model.types import Array


class Anderson:
    """Extrapolate from the last steps to where their best combination vanishes.

    With the differences ΔT and ΔF of the last rounds, γ = argmin ‖F − ΔF γ‖ and the next
    T is T + F − (ΔT + ΔF) γ. The memory is cleared when the step grows, which the plain
    map never does, so a bad extrapolation costs one round.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._count = 0
        self._T = self._F = np.empty(0)
        self._length = 0.0

    def next(self, T: Array, F: Array) -> Array:
        """Next point, from the current one and the step that the map takes there."""
        T, F, shape = T.ravel(), F.ravel(), T.shape
        length = float(np.linalg.norm(F))
        if self._count == 0:
            self._dF = np.empty((self._memory, F.size))
            self._dTF = np.empty_like(self._dF)
            self._gram = np.empty((self._memory, self._memory))
        elif length > 2 * self._length:
            self._count = 0
        else:
            row = (self._count - 1) % self._memory
            self._dF[row] = F - self._F
            self._dTF[row] = T - self._T + self._dF[row]
            known = min(self._count, self._memory)
            self._gram[row, :known] = self._gram[:known, row] = self._dF[:known] @ self._dF[row]
        self._T, self._F, self._length = T, F, length
        known = min(self._count, self._memory)
        self._count += 1
        if known == 0:
            return (T + F).reshape(shape)
        dF, dTF = self._dF[:known], self._dTF[:known]
        gram = self._gram[:known, :known]
        # A little regularisation: old differences become nearly collinear.
        gram = gram + 1e-10 * np.trace(gram) * np.eye(known)
        return (T + F - np.linalg.solve(gram, dF @ F) @ dTF).reshape(shape)
