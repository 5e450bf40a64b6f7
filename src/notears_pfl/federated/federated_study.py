"""A federated study: its file, the fit of every group at the centre, and the result files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from notears_pfl.federated.courier import Courier, Exchange
from notears_pfl.federated.journal import Journal
from notears_pfl.federated.site_rules import errors_naming, read_rois, read_yaml, refuse_alike
from notears_pfl.io.networks import write_fit
from notears_pfl.io.sidecars import write_json
from notears_pfl.model.estimator import NotearsPFL


@dataclass(frozen=True)
class Federation:
    """A federated study, as agreed by its hospitals."""

    name: str
    host: str
    port: int
    sites: tuple[str, ...]
    groups: tuple[str, ...]
    rois: tuple[str, ...]
    scale: str
    estimator: Mapping[str, Any]
    answer_s: float
    patience_s: float
    without: str
    minimum_sites: int

    def __post_init__(self) -> None:
        """Refuse names that could be confused, wherever the federation comes from."""
        refuse_alike("sites", self.sites)
        refuse_alike("groups", self.groups)
        refuse_alike("centre and site", (self.host, *self.sites))


def federation_from(content: Mapping[str, Any], folder: Path) -> Federation:
    """Build a federation from checked settings; paths are relative to ``folder``."""
    return Federation(
        name=content["name"],
        **content["centre"],
        sites=tuple(content["sites"]),
        groups=tuple(content["groups"]),
        rois=read_rois(content["rois"], folder),
        scale=content["scale"],
        estimator=content["estimator"],
        **content["waiting"],
    )


def read_federation(path: str | Path) -> Federation:
    """Read the file of a federated study."""
    content = read_yaml(path, "federation.schema.yaml")
    with errors_naming(path):
        return federation_from(content, Path(path).resolve().parent)


def fit_study(
    exchange: Exchange, federation: Federation, sites: Sequence[str], folder: Path
) -> None:
    """Fit all groups with ``sites`` and write networks and reports to ``folder``.

    Answers are saved in ``folder/state`` until all groups are fitted, so a stopped study resumes.
    """
    _remove_networks_of_absent_sites(federation, sites, folder)
    journals = []
    for group in federation.groups:
        plan = {
            "group": group,
            "rois": list(federation.rois),
            "scale": federation.scale,
            "estimator": dict(federation.estimator),
        }
        journal = Journal(
            folder / f"state/group-{group}.journal", {"plan": plan, "sites": [*sites]}
        )
        journals.append(journal)
        try:
            courier = Courier(exchange, sites, plan, journal, federation.answer_s)
            fit = NotearsPFL(**federation.estimator, progress=False)
            fit.fit_over(courier.sites)
        finally:
            journal.close()
        _write(fit, federation, group, sites, courier, folder)
    for journal in journals:
        journal.delete()


def _remove_networks_of_absent_sites(
    federation: Federation, sites: Sequence[str], folder: Path
) -> None:
    """Remove networks of sites that took part in an earlier fit but are absent now."""
    for site in set(federation.sites) - set(sites):
        for path in folder.glob(f"group-*_site-{site}_relmat.*"):
            path.unlink()


def _write(
    fit: NotearsPFL,
    federation: Federation,
    group: str,
    sites: Sequence[str],
    courier: Courier,
    folder: Path,
) -> None:
    """Write a group's networks and report, in the format of a fit on one machine."""
    learned_from = {
        site: {
            "Subjects": counts["subjects"],
            "Samples": counts["samples"],
            "EffectiveSamples": counts["effective_samples"],
            "Noise": counts["noise"],
        }
        for site, counts in zip(sites, courier.counts, strict=True)
    }
    write_fit(
        fit,
        group,
        federation.rois,
        learned_from,
        folder,
        scale=federation.scale,
        about={
            "SitesLeftOut": [site for site in federation.sites if site not in sites],
            # Not checked: every additional fit reveals more about the sites to the centre.
            "EdgesChangedByReverseSiteOrder": None,
        },
        details={
            "RoundTrips": courier.exchanges,
            "BytesToSites": dict(courier.bytes_out),
            "BytesFromSites": dict(courier.bytes_in),
        },
    )


def write_status(folder: Path, state: str, message: str, sites: Sequence[str] = ()) -> None:
    """Record how a run ended: finished, failed, or silent (with the sites that did not answer)."""
    content = {"state": state, "message": message, "sites": list(sites)}
    write_json(content, folder / "state/status.json")


def read_status(folder: Path) -> dict[str, Any] | None:
    """Return how the last run ended, or None while it is running."""
    path = folder / "state/status.json"
    status: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return status
