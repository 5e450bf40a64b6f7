"""How well edges repeat between two random halves of the subjects of a real study.

    OMP_NUM_THREADS=1 python benchmarks/estimator_repeatability.py series.npz participants.tsv

The archive holds one array (volumes × ROIs) per participant_id, the table their site and group.
Edges are ranked by their penalised weights. With ``--schedules``, all subjects are fitted with
other numbers of stages and rounds of the path instead, which must not matter.
"""

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd

from notears_pfl import NotearsPFL
from notears_pfl.errors import DoubtfulFitWarning, NotConvergedWarning
from notears_pfl.model.solver import central_path
from notears_pfl.seeds import stream

SCHEDULES = [(9, 40, 20), (13, 60, 20), (17, 80, 20), (25, 80, 20), (33, 80, 40), (17, 40, 10)]

MODELS = {
    "separate": {"lambda2": 0},
    "chain": {"penalty": "chain"},
    "chain λ1=.03 λ2=.3": {"penalty": "chain", "lambda1": 0.03, "lambda2": 0.3},
    "edgewise": {},
    "edgewise κ=.25": {"kappa": 0.25},
    "edgewise κ=1": {"kappa": 1.0},
}


def scaled(series, scale):
    """Centre a subject's series; remove one scale per subject, or one per ROI."""
    centred = series - series.mean(axis=0)
    return centred / (centred.std(axis=0) if scale == "roi" else np.sqrt((centred**2).mean()))


def halves(table, rng):
    """Two random halves of the subjects of every site: lists of participant_id per site."""
    first, second = [], []
    for _, site in table.groupby("site"):
        ids = rng.permutation(site["participant_id"].to_numpy())
        first.append(ids[: len(ids) // 2])
        second.append(ids[len(ids) // 2 :])
    return first, second


def strongest(weights, n_edges):
    """Mask of the ``n_edges`` strongest edges of a site."""
    size = np.abs(weights)
    return (size > np.sort(size, axis=None)[-n_edges - 1]) & (size > 0)


def repeatability(first, second, n_edges):
    """Jaccard index of directed and undirected edges, and how many keep their direction."""
    rows = []
    for pair in zip(first, second, strict=True):
        a, b = (strongest(weights, n_edges) for weights in pair)
        undirected_a, undirected_b = a | a.T, b | b.T
        common = undirected_a & undirected_b
        rows.append(
            {
                "directed": (a & b).sum() / (a | b).sum(),
                "undirected": common.sum() / (undirected_a | undirected_b).sum(),
                "same direction": (a & b).sum() / (common.sum() / 2),
                "edges": (a.sum() + b.sum()) / 2,
            }
        )
    return pd.DataFrame(rows).mean()


def measure(series, table, columns, n_splits):
    """One row per scale, model and split."""
    rows = []
    for scale in ("subject", "roi"):
        for split in range(n_splits):
            halved = halves(table, stream(1, "benchmark", "halves", str(split)))
            samples = [stacked(series, half, columns, scale) for half in halved]
            for name, settings in MODELS.items():
                fits = [NotearsPFL(**settings).fit(x, subjects=who) for x, who in samples]
                weights = [fit.penalised_weights_ for fit in fits]
                result = repeatability(*weights, len(columns))
                ends = {
                    "kappa or λ2": np.mean([chosen(fit) for fit in fits]),
                    "converged": np.mean([fit.converged_ for fit in fits]),
                    "residual": max(fit.certificate_.primal_residual for fit in fits),
                    "acyclic at": max(fit.certificate_.acyclic_threshold for fit in fits),
                    "density": np.mean([fit.adjacency_.sum(axis=(1, 2)).mean() for fit in fits]),
                }
                rows.append({"scale": scale, "model": name, **result, **ends})
    return pd.DataFrame(rows)


def stacked(series, ids_by_site, columns, scale):
    """Stack the samples of every site, and say whose they are."""
    parts = [[scaled(series[i][:, columns], scale) for i in ids] for ids in ids_by_site]
    subjects = [np.repeat(range(len(site)), [len(x) for x in site]) for site in parts]
    return [np.vstack(site) for site in parts], subjects


def compare_schedules(series, table, columns):
    """Print objective and edges of every schedule, and the lowest Jaccard index of two of them."""
    ids = [site["participant_id"] for _, site in table.groupby("site")]
    for scale in ("subject", "roi"):
        samples, subjects = stacked(series, ids, columns, scale)
        found = []
        for schedule in SCHEDULES:
            model = Scheduled(kappa=0.0).along(schedule).fit(samples, subjects=subjects)
            found.append(model.adjacency_)
            print(
                f"{scale}, stages and rounds {schedule}: objective "
                f"{model.certificate_.objective:.3f}, from the {model.certificate_.start}, edges "
                f"{model.adjacency_.sum(axis=(1, 2)).tolist()}, CPU s {model.seconds:.2f}"
            )
        pairs = [(a & b).sum() / (a | b).sum() for a in found for b in found]
        print(f"{scale}: lowest directed Jaccard index of two schedules {min(pairs):.3f}")


class Scheduled(NotearsPFL):
    """The estimator with another path."""

    def along(self, schedule):
        """Follow this schedule: stages, rounds of the first stage, rounds of the others."""
        self._schedule = schedule
        return self

    def _checked_options(self):
        return replace(super()._checked_options(), path=central_path(*self._schedule))

    def fit(self, samples, **settings):
        """Fit and time it."""
        started = time.process_time()
        super().fit(samples, **settings)
        self.seconds = time.process_time() - started
        return self


def chosen(fit):
    """Return the parameter that cross-validation set."""
    return fit.parameters_.kappa if fit.penalty == "edgewise" else fit.parameters_.lambda2


def verdicts(means):
    """Say for every joint model and scale whether its edges repeat better than separate ones."""
    for (scale, model), row in means.iterrows():
        if model == "separate":
            continue
        alone = means.loc[scale, "separate"]
        for kind in ("directed", "undirected"):
            holds = "holds" if row[kind] > alone[kind] else "FAILS"
            yield f"{holds}  {scale}, {model}: {kind} {row[kind]:.3f}, separate {alone[kind]:.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series")
    parser.add_argument("participants")
    parser.add_argument("--group", default="TC")
    parser.add_argument("--rois", default="config/rois.tsv")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--schedules", action="store_true", help="compare schedules of the path")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotConvergedWarning)
    warnings.simplefilter("ignore", DoubtfulFitWarning)
    participants = pd.read_csv(arguments.participants, sep="\t")
    selected = np.flatnonzero(pd.read_csv(arguments.rois, sep="\t")["selected"])
    chosen_subjects = participants[participants["group"] == arguments.group]
    if arguments.schedules:
        compare_schedules(np.load(arguments.series), chosen_subjects, selected)
        raise SystemExit
    table = measure(np.load(arguments.series), chosen_subjects, selected, arguments.splits)
    means = table.groupby(["scale", "model"], sort=False).mean()
    print(means.round(3).to_string(), "\n")
    for claim in verdicts(means):
        print(claim)
