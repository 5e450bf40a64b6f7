"""One seed for the whole study: every random draw comes from a stream named for its purpose."""

import hashlib

import numpy as np


def stream(seed: int, *names: str) -> np.random.Generator:
    """Random generator for the purpose that ``names`` describe, from the study's ``seed``.

    Streams with different names are independent, and a stream does not depend on which other
    streams exist: adding a subject leaves every other subject unchanged.
    """
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, dtype="<u4").tolist()])
