"""One seed for the whole study: every random draw comes from a stream named for its purpose."""

import hashlib

import numpy as np


def stream(seed: int, *names: str) -> np.random.Generator:
    """Random generator of the study's ``seed`` for the purpose that ``names`` spell.

    Streams with other names are independent, and a name's stream does not depend on which
    other streams exist: adding a subject leaves every other subject as it was.
    """
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype="<u4").tolist()])
