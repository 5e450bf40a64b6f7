"""What the comparison costs at the paper's size, and what causal-learn would.

    OMP_NUM_THREADS=1 python benchmarks/comparison_cost.py series.npz participants.tsv

The archive holds one array (volumes × 116 ROIs) per participant_id, the table their site and
group. Where it has fewer than five sites, the largest are cut in two. CPU seconds are printed.
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np
import pandas as pd

from notears_pfl.baselines import ges, pc
from notears_pfl.baselines.equal_sparsity import ComparisonOptions, compare_draw
from notears_pfl.baselines.notears import notears
from notears_pfl.cohort.draws import draw_subjects
from notears_pfl.cohort.samples import site_samples

BASELINES = ("sig", "ges", "pc", "granger")
N_SITES = 5
OPTIONS = ComparisonOptions({}, max_condition=3, lag=1, kind="conditional")
ALPHAS, PENALTIES = np.geomspace(1e-60, 1e-2, 40), np.geomspace(1, 60, 25)


def five_sites(participants):
    """Cut the largest site in two until there are five; everybody is a validation subject."""
    table = participants.assign(split="validation")
    while table["site"].nunique() < N_SITES:
        largest = table["site"].value_counts().index[0]
        for _, members in table[table["site"] == largest].groupby("group"):
            table.loc[members.index[1::2], "site"] = f"{largest}b"
    return table


def paper_size(cohort, series, groups, rois, n_draws):
    """CPU seconds by method and kind of set, and whether every network has m edges."""
    sites = sorted(cohort["site"].unique())
    costs, networks = [], []
    for draw in range(1, n_draws + 1):
        drawn = draw_subjects(cohort, groups, sites, (5, 5), [draw], 1)
        sets = {
            name: {
                site: [
                    [series[who]] for who in members.loc[members["site"] == site, "participant_id"]
                ]
                for site in sites
            }
            for name, members in drawn.groupby("set", sort=False)
        }
        tables = compare_draw(sets, rois, BASELINES, OPTIONS)
        costs.append(tables.cost)
        networks.append(tables.networks)
    cost, counts = pd.concat(costs), pd.concat(networks)
    kind = np.where(cost["set"].isin(groups), "groups", "mixed")
    return cost.groupby(["method", kind], sort=False)[["n_networks", "cpu_seconds"]].sum(), counts


def cpu(function, *arguments, **settings):
    """Give the result and the CPU seconds."""
    start = time.process_time()
    result = function(*arguments, **settings)
    return result, time.process_time() - start


def capped(function, cap, *arguments):
    """Give result and CPU seconds of a call in a process of its own; None beyond the cap."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run():
        resource.setrlimit(resource.RLIMIT_CPU, (cap, cap))
        sender.send(cpu(function, *arguments))

    process = context.Process(target=run)
    process.start()
    sender.close()
    try:
        result, seconds = receiver.recv()
    except EOFError:
        result, seconds = None, None
    process.join()
    return result, seconds


def causallearn_skeleton(x, alpha):
    """Skeleton by causal-learn's stable PC."""
    from causallearn.utils.cit import CIT
    from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery

    graph = skeleton_discovery(x, alpha, CIT(x, "fisherz"), show_progress=False, max_k=3).G.graph
    return (graph != 0) | (graph.T != 0)


def causallearn_class(x, penalty):
    """CPDAG by causal-learn's GES."""
    from causallearn.search.ScoreBased.GES import ges as theirs

    return theirs(x, lambda_value=penalty / 2)["G"].graph == -1


def against_causal_learn(name, x, n_edges, cap):
    """Compare both on one network, at the level and penalty that give about ``n_edges``."""

    def distance(fit):
        return abs(int(fit.dag.sum()) - n_edges)

    alpha = min(ALPHAS, key=lambda a: distance(pc(x, alpha=a)))
    penalty = min(PENALTIES, key=lambda p: distance(ges(x, penalty=p)))
    fit, seconds = cpu(pc, x, alpha=alpha)
    edges, theirs = capped(causallearn_skeleton, cap, x, alpha)
    same = (
        ""
        if edges is None
        else f", same skeleton: {np.array_equal(edges, fit.cpdag | fit.cpdag.T)}"
    )
    report(f"{name} PC, alpha {alpha:.0e}, {fit.dag.sum()} edges", seconds, theirs, cap, same)
    fit, seconds = cpu(ges, x, penalty=penalty)
    found, theirs = capped(causallearn_class, cap, x, penalty)
    same = "" if found is None else f", same class: {np.array_equal(found, fit.cpdag)}"
    report(f"{name} GES, penalty {penalty:.3g}, {fit.dag.sum()} edges", seconds, theirs, cap, same)


def report(title, ours, theirs, cap, same):
    """Print both times and their ratio, a lower bound where causal-learn was stopped."""
    bound = "more than " if theirs is None else ""
    other = cap if theirs is None else theirs
    print(f"{title}: ours {ours:.3f} s, causal-learn {bound}{other:.1f} s, "
          f"{bound}{other / ours:.0f} times{same}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series")
    parser.add_argument("participants")
    parser.add_argument("--groups", nargs=2, default=["ASD", "TC"])
    parser.add_argument("--rois", default="config/rois.tsv")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--networks", type=int, default=1, help="for causal-learn")
    parser.add_argument("--cap", type=int, default=150, help="CPU seconds for causal-learn")
    parser.add_argument("--notears", action="store_true", help="time L-BFGS NOTEARS, too")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.rois, sep="\t")
    selected = np.flatnonzero(table["selected"])
    rois = table["abbreviation"][selected].tolist()
    cohort = five_sites(pd.read_csv(arguments.participants, sep="\t"))
    with np.load(arguments.series) as archive:
        series = {
            who: site_samples({who: pd.DataFrame(archive[who][:, selected])}, "subject").x
            for who in cohort["participant_id"]
        }
    groups = tuple(arguments.groups)
    print(cohort.groupby(["site", "group"]).size().to_dict())

    some = cohort[cohort["group"] == groups[1]].groupby("site")["participant_id"]
    for site, names in list(some)[: arguments.networks]:
        x = np.concatenate([series[who] for who in names[:5]])
        against_causal_learn(site, x, 65, arguments.cap)
        if arguments.notears:
            print(f"{site} L-BFGS NOTEARS: {cpu(notears, x)[1]:.1f} s")

    cost, counts = paper_size(cohort, series, groups, rois, arguments.draws)
    cost["per_network"] = cost["cpu_seconds"] / cost["n_networks"]
    print(cost.round(3).to_string())
    met = (counts["m"] == counts["n_edges"]).mean()
    total = cost["cpu_seconds"].sum() / 60
    print(f"{len(counts)} networks, exactly m edges in {met:.1%}, m from {counts['m'].min()} to "
          f"{counts['m'].max()}, sound: {counts['sound'].mean():.1%}")  # fmt: skip
    print(f"{arguments.draws} draws: {total:.1f} CPU minutes; 20 draws: "
          f"{20 * total / arguments.draws:.1f}")  # fmt: skip
