"""How well edges repeat between two random halves of the subjects of a real study.

    OMP_NUM_THREADS=1 python benchmarks/estimator_repeatability.py series.npz participants.tsv

The archive holds one array (volumes × ROIs) per participant_id, the table their site and group.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from notears_pfl import NotearsPFL
from notears_pfl.errors import NotConvergedWarning
from notears_pfl.seeds import stream

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
            samples = [
                [np.vstack([scaled(series[i][:, columns], scale) for i in ids]) for ids in half]
                for half in halved
            ]
            for name, settings in MODELS.items():
                fits = [NotearsPFL(threshold=0, **settings).fit(half) for half in samples]
                result = repeatability(fits[0].weights_, fits[1].weights_, len(columns))
                ends = {
                    "kappa or λ2": np.mean([chosen(fit) for fit in fits]),
                    "converged": np.mean([fit.converged_ for fit in fits]),
                    "residual": max(fit.certificate_.primal_residual for fit in fits),
                    "acyclic at": max(fit.certificate_.acyclic_threshold for fit in fits),
                }
                rows.append({"scale": scale, "model": name, **result, **ends})
    return pd.DataFrame(rows)


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
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", NotConvergedWarning)
    participants = pd.read_csv(arguments.participants, sep="\t")
    selected = np.flatnonzero(pd.read_csv(arguments.rois, sep="\t")["selected"])
    table = measure(
        np.load(arguments.series),
        participants[participants["group"] == arguments.group],
        selected,
        arguments.splits,
    )
    means = table.groupby(["scale", "model"], sort=False).mean()
    print(means.round(3).to_string(), "\n")
    for claim in verdicts(means):
        print(claim)
