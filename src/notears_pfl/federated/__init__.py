"""The same fit between hospitals: series stay at each site, and only agreed messages leave it.

The centre: ``cli`` → ``centre`` (server, waiting for sites) → ``controller`` (the NVFLARE job) →
``federated_study`` (one fit per group) → ``courier`` (sends requests, checks the answers and saves
them in ``journal``).
A site: ``cli`` → ``engine`` (starts NVFLARE) → ``gate`` (drops requests that no fit needs) →
``executor`` (checks the centre's signature, ``seal``) → ``border`` (checks, answers and records
each request) → ``site_data`` (loads the group's series) → ``model.federation.Site``.

What leaves a site in a round is one answer per request: for a ``step``, the weights W and their
loss. ``message_kinds`` lists every kind of request with its answer, ``site_rules`` holds what the
hospital allows, and ``border`` decides: it writes an answer to ``ledger`` before sending it.
``run_records`` keeps the rules of each run and refuses a release that differs from an earlier one;
``privacy`` adds noise to the covariance; ``statement`` summarises the records for an ethics board.
``kits`` makes the certificates; ``simulated_federation`` prepares a simulation on one machine.

Only ``centre``, ``controller``, ``engine``, ``executor``, ``gate`` and ``kits`` use NVFLARE.
"""

import importlib.util

from notears_pfl.errors import FederatedError


def require_nvflare() -> None:
    """Refuse to go on where NVFLARE is not installed."""
    if importlib.util.find_spec("nvflare") is None:
        msg = (
            "the federated fit needs NVFLARE, which is not installed. Install it: pip install -c "
            "constraints-federated.txt --editable '.[federated]' in the clone, or pip install "
            "'notears-pfl[federated]'."
        )
        raise FederatedError(msg)
