"""Read the series that networks are learned from; write and read the networks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from notears_pfl.errors import TableError
from notears_pfl.io.sidecars import read_sidecar, write_json
from notears_pfl.io.tables import read_relmat, read_table, write_table
from notears_pfl.lazy import Lazy
from notears_pfl.runs import RUN, by_run
from notears_pfl.version import __version__

# Besides this one, which tells its version itself.
PACKAGES = ("numpy", "scipy")
# Directions with less support than this are counted as unclear.
CLEAR_SUPPORT = 0.9
NETWORK_NAME = re.compile(r"group-(?P<group>[A-Za-z0-9]+)_site-(?P<site>[A-Za-z0-9]+)_relmat\.tsv")


def read_discovery_series(
    cohort: pd.DataFrame, group: str | None, paths: Mapping[str, str], rois: Sequence[str]
) -> dict[str, Mapping[str, pd.DataFrame]]:
    """Read series of discovery subjects, of a group or all, when asked for: by site, then subject.

    Parameters
    ----------
    cohort : DataFrame
        ``participant_id``, ``site``, ``group`` and ``split``.
    group : str or None
        Whose series to read; None for both groups.
    paths : mapping of str to str
        Table of each participant.
    rois : sequence of str
        Columns to keep.
    """
    members = cohort[cohort["split"] == "discovery"]
    members = members if group is None else members[members["group"] == group]
    return {
        str(site): read_subjects(rows["participant_id"], paths, rois)
        for site, rows in members.groupby("site", sort=False)
    }


def check_cohort(cohort: pd.DataFrame, name: str) -> None:
    """Refuse a table, called ``name``, that is not the workflow's table of the cohort."""
    missing = [c for c in ("participant_id", "site", "group", "split") if c not in cohort]
    if missing or cohort["participant_id"].isna().any():
        what = f"no column {', '.join(missing)}" if missing else "a row without participant_id"
        msg = f"{name}: {what}. Give the workflow's results/cohort/participants.tsv."
        raise TableError(msg)


def read_subjects(
    names: Iterable[str], paths: Mapping[str, str], rois: Sequence[str]
) -> Mapping[str, pd.DataFrame]:
    """Read the series of these subjects when asked for: columns ``rois`` of the table of each.

    If a subject has several runs, the run of every volume is in the index.
    """
    return Lazy(names, lambda name: _columns(paths[name], rois))


def _columns(path: str, rois: Sequence[str]) -> pd.DataFrame:
    table = by_run(read_table(path, only={RUN, *rois}))
    kinds = dict(zip(table.columns, table.dtypes, strict=True))
    wrong = [
        roi for roi in rois if roi not in kinds or not pd.api.types.is_numeric_dtype(kinds[roi])
    ]
    if wrong:
        msg = (
            f"{path}: {len(wrong)} ROIs have no column of numbers ({', '.join(wrong[:5])}). Make "
            "the series again, or leave the ROIs out."
        )
        raise TableError(msg)
    return table[list(rois)]


def write_network(
    weights: np.ndarray, rois: Sequence[str], sidecar: Mapping[str, Any], path: str | Path
) -> None:
    """Write a labelled adjacency matrix, and beside it what BIDS' BEP017 asks to be said."""
    relmat = pd.DataFrame(weights, index=pd.Index(rois, name="from"), columns=list(rois))
    write_table(relmat, path)
    content = {
        "RelationshipMeasure": "directed dependency",
        "MeasureDescription": "Weight of a linear structural equation model; entry (row, column) "
        "is the edge row → column. A dependency, not a proven cause.",
        "Weighted": True,
        "Directed": True,
        "ValidDiagonal": False,
        "StorageFormat": "Full",
        "NonNegative": "",
        **sidecar,
        "Versions": {"notears-pfl": __version__} | {name: version(name) for name in PACKAGES},
    }
    write_json(content, Path(path).with_suffix(".json"))


class Fitted(Protocol):
    """A fit of one network per site: what :class:`notears_pfl.NotearsPFL` has once it is fitted."""

    weights_: np.ndarray
    standard_errors_: np.ndarray
    probability_: np.ndarray
    penalised_weights_: np.ndarray
    direction_support_: np.ndarray
    ties_: np.ndarray
    untied_: np.ndarray
    doubts_: list[str]
    parameters_: Any
    site_parameters_: Any
    converged_: bool
    certificate_: Any
    candidates_: Any
    n_rounds_: int
    history_: Any
    order_: np.ndarray
    adjacency_: np.ndarray

    def get_params(self) -> Mapping[str, Any]:
        """Give the settings of the fit."""


def write_fit(
    fit: Fitted,
    group: str,
    rois: Sequence[str],
    sites: Mapping[str, Mapping[str, Any]],
    folder: str | Path,
    *,
    scale: str,
    about: Mapping[str, Any],
    details: Mapping[str, Any] | None = None,
) -> None:
    """Write a group's networks and the record of their fit, on one machine or between hospitals.

    Parameters
    ----------
    fit : Fitted
        One network per site, in the order of ``sites``.
    group, rois : str, sequence of str
        Whose networks these are, and the names of their rows and columns.
    sites : mapping of str to mapping
        What each network was learned from: ``Subjects``, ``Samples``, ``EffectiveSamples``, and
        whatever else belongs into the network's sidecar.
    folder : path
        Gets ``group-G_site-S_relmat.tsv`` with a sidecar for every site, ``group-G_edges.tsv`` with
        what is known about every edge, and ``group-G_fit.json``.
    scale : str
        ``subject`` or ``roi``.
    about : mapping
        ``EdgesChangedByReverseSiteOrder`` (None where no fit in reverse order was made: the
        penalty ``edgewise`` does not depend on the order), and whatever else belongs into every
        record.
    details : mapping, optional
        For the record of the fit alone.
    """
    record = {
        "Group": group,
        "Scale": scale,
        "SiteOrder": list(sites),
        **about,
        "Settings": fit.get_params(),
        "Parameters": fit.parameters_,
        "Converged": fit.converged_,
        "Certificate": fit.certificate_,
        "Doubts": fit.doubts_,
    }
    write_table(
        edge_details(fit, rois, list(sites)), Path(folder) / f"group-{group}_edges.tsv", index=False
    )
    unclear = (fit.weights_ != 0) & (fit.direction_support_ < CLEAR_SUPPORT)
    for k, (site, own) in enumerate(sites.items()):
        path = Path(folder) / f"group-{group}_site-{site}_relmat.tsv"
        sidecar = {
            **record,
            "Site": site,
            "Parameters": fit.site_parameters_[k],
            "Ties": fit.ties_[k],
            "OwnOrder": fit.untied_[k],
            "UnclearDirections": int(unclear[k].sum()),
            **own,
        }
        write_network(fit.weights_[k], rois, plain(sidecar), path)
    course = {"Candidates": fit.candidates_, "Rounds": fit.n_rounds_, "History": fit.history_}
    start = start_record(fit, rois, list(sites))
    content = plain({**record, **course, **start, **(details or {})})
    write_json(content, Path(folder) / f"group-{group}_fit.json")


def write_pooled_fit(
    fit: Fitted, rois: Sequence[str], sites: Mapping[str, Mapping[str, Any]], path: str | Path,
    *, scale: str,
) -> None:  # fmt: skip
    """Write the record of a fit of both groups together, with what draws need to start from it."""
    record = {
        "Group": "both",
        "Scale": scale,
        "SiteOrder": list(sites),
        "Sites": sites,
        "Settings": fit.get_params(),
        "Parameters": fit.parameters_,
        "Converged": fit.converged_,
        "Certificate": fit.certificate_,
        "Doubts": fit.doubts_,
        "Candidates": fit.candidates_,
        **start_record(fit, rois, list(sites)),
    }
    write_json(plain(record), path)


def start_record(fit: Fitted, rois: Sequence[str], sites: Sequence[str]) -> dict[str, Any]:
    """Orders of the ROIs, causes first, and edges of every site, by name."""
    names = np.array(rois, dtype=object)
    orders = {site: names[own].tolist() for site, own in zip(sites, fit.order_, strict=True)}
    edges = {
        site: [[rois[i], rois[j]] for i, j in np.argwhere(own)]
        for site, own in zip(sites, fit.adjacency_, strict=True)
    }
    return {"Orders": orders, "Edges": edges}


def read_start(
    path: str | Path, rois: Sequence[str], sites: Sequence[str]
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Read settings of a fit, its orders (K, d) and its edges (K, d, d), by the names of ROIs."""
    record = read_sidecar(path)
    place = {roi: i for i, roi in enumerate(rois)}
    missing = [site for site in sites if set(record["Orders"].get(site, ())) != set(rois)]
    if missing:
        msg = (
            f"{path}: the orders of the ROIs at {', '.join(missing)} do not have the "
            f"{len(rois)} selected ROIs. Run rule fit_networks again."
        )
        raise TableError(msg)
    orders = np.array([[place[roi] for roi in record["Orders"][site]] for site in sites])
    adjacency = np.zeros((len(sites), len(rois), len(rois)), dtype=bool)
    for k, site in enumerate(sites):
        for source, target in record["Edges"][site]:
            adjacency[k, place[source], place[target]] = True
    return dict(record["Settings"]), orders, adjacency


def with_parameters(
    estimator: Mapping[str, Any], pooled: str | Path | None,
    names: Sequence[str] = ("lambda1", "lambda2", "kappa"),
) -> dict[str, Any]:  # fmt: skip
    """Return settings with these parameters of the fit on record; without one, as they are."""
    if not pooled:
        return dict(estimator)
    chosen = read_sidecar(pooled)["Parameters"]
    return {**estimator, **{name: chosen[name] for name in names}}


def edge_details(fit: Fitted, rois: Sequence[str], sites: Sequence[str]) -> pd.DataFrame:
    """Return one row per edge and site.

    Columns ``site``, ``from``, ``to``, ``weight``, ``standard_error``, ``probability`` (that the
    edge exists and exceeds the threshold), ``direction_support`` (near ½ where it is unclear),
    ``penalised_weight``: to rank edges by, because it draws on all sites and so repeats better in
    other subjects than ``weight``, which is unbiased.
    """
    k, i, j = np.nonzero(fit.weights_)
    names = np.array(rois, dtype=object)
    return pd.DataFrame(
        {
            "site": np.array(sites, dtype=object)[k],
            "from": names[i],
            "to": names[j],
            "weight": fit.weights_[k, i, j],
            "standard_error": fit.standard_errors_[k, i, j],
            "probability": fit.probability_[k, i, j],
            "direction_support": fit.direction_support_[k, i, j],
            "penalised_weight": fit.penalised_weights_[k, i, j],
        }
    )


def read_networks(
    paths: Sequence[str | Path], group_sites: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], pd.DataFrame]:
    """Read networks by (group, site), in the order of ``group_sites``.

    A network's group and site are those in its file's name, never its place among the files.
    """
    named = {}
    for path in paths:
        name = NETWORK_NAME.fullmatch(Path(path).name)
        if name is None:
            msg = f"{path}: a network's file is named group-G_site-S_relmat.tsv. Rename it."
            raise TableError(msg)
        named[name["group"], name["site"]] = path
    missing = [f"group {g} at site {s}" for g, s in group_sites if (g, s) not in named]
    if missing:
        msg = f"no network was given for {', '.join(missing)}. Run rule fit_networks again."
        raise TableError(msg)
    return {key: read_relmat(named[key]) for key in group_sites}


def plain(value: Any) -> Any:
    """Turn dataclasses and arrays into what JSON can hold; not-a-number becomes null."""
    if hasattr(value, "__dataclass_fields__"):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
