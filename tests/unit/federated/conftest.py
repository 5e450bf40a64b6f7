"""Sites behind their borders in one process, exchanging bytes as hospitals do."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from notears_pfl.federated.border import Border
from notears_pfl.federated.courier import Courier
from notears_pfl.federated.journal import Journal
from notears_pfl.federated.ledger import Ledger
from notears_pfl.federated.message_kinds import KINDS
from notears_pfl.federated.site_data import LoadedSite
from notears_pfl.federated.site_rules import SiteRules
from notears_pfl.model.federation import site_from_samples


def simulated_samples(n_sites, d, n_samples, rng):
    """Draw samples of sites that share their edges but not their weights."""
    edges = np.triu(rng.uniform(size=(d, d)) < 2 / d, k=1)
    samples = []
    for _ in range(n_sites):
        W = edges * rng.uniform(0.5, 0.8, size=(d, d))
        samples.append(rng.normal(size=(n_samples, d)) @ np.linalg.inv(np.eye(d) - W))
    return samples


@dataclass
class Hospitals:
    """Sites that answer bundles; those in ``away`` do not, and ``spoil`` alters the answers."""

    folder: object
    samples: list
    rules: SiteRules
    away: set = field(default_factory=set)
    spoil: dict = field(default_factory=dict)
    n_exchanges: int = 0

    def __post_init__(self):
        """Start every site."""
        self.names = [f"S{k}" for k in range(len(self.samples))]
        self.rois = list(self.rules.rois)
        self.borders = {}
        for name in self.names:
            self.start(name)

    def start(self, name):
        """Start or restart a site; a restarted site has forgotten the fit."""
        x = self.samples[self.names.index(name)]
        counts = {"subjects": 8, "samples": len(x), "effective_samples": 9.5, "noise": None}
        ledger = Ledger(self.folder / f"{name}.tsv", "run")
        site = site_from_samples(x, demean=True)
        self.borders[name] = Border(self.rules, lambda plan: LoadedSite(site, counts), ledger)

    def exchange(self, bundles):
        """Send bundles to the borders and return the answers."""
        self.n_exchanges += 1
        answers = {n: self.borders[n].handle(b) for n, b in bundles.items() if n not in self.away}
        return {n: self.spoil.get(n, lambda data: data)(data) for n, data in answers.items()}

    @property
    def plan(self):
        """What to fit."""
        return {"group": "MDD", "rois": self.rois, "scale": "subject", "estimator": {}}

    def courier(self, answer_s=0.0):
        """Start the centre's courier, resuming from a saved state if there is one."""
        journal = Journal(self.folder / "saved.journal", {"plan": self.plan})
        return Courier(self.exchange, self.names, self.plan, journal, answer_s)


@pytest.fixture
def rules(tmp_path):
    """Give rules that allow a plan of 56 ROIs."""
    return SiteRules(
        centre="centre",
        participants="participants.tsv",
        series="{participant_id}.tsv",
        records=tmp_path,
        groups=("MDD", "HC"),
        rois=tuple(f"R{i}" for i in range(56)),
        scales=("subject",),
        minimum_subjects=5,
        minimum_fold_subjects=2,
        ranges={"lambda": (0.0, 5.0), "kappa": (0.0, 4.0), "rho": (0.01, 10.0)},
        messages=KINDS,
        noise=None,
    )


@pytest.fixture
def hospitals(tmp_path, rules, rng):
    """Give three hospitals with eight ROIs."""
    few = SiteRules(**{**vars(rules), "rois": rules.rois[:8]})
    return Hospitals(tmp_path, simulated_samples(3, 8, 300, rng), few)


@pytest.fixture
def five_hospitals(tmp_path, rules, rng):
    """Give five hospitals with 56 ROIs."""
    return Hospitals(tmp_path, simulated_samples(5, 56, 400, rng), rules)
