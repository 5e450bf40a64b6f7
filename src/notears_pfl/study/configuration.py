"""Read a study's settings and tables, and refuse what cannot be run before any job starts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.errors import ConfigError
from notears_pfl.io.schema import check_config, read_checked_table, read_schema
from notears_pfl.io.settings import read_settings
from notears_pfl.names import alike

# One subject to learn from and one to validate on: the least that a 70/30 split can work with.
FEWEST_PER_GROUP = 2
# Largest deformation over its FWHM: its gradient then has a standard deviation of 1/6.
STEEPEST = 0.1


@dataclass(frozen=True)
class StudyTables:
    """The tables of a study, checked.

    Parameters
    ----------
    sites : DataFrame
        One acquisition protocol per row, indexed by site.
    rois : DataFrame
        The atlas regions, indexed by abbreviation, in the atlas's order.
    groups : tuple of str
        Labels of the patients and of the controls.
    """

    sites: pd.DataFrame
    rois: pd.DataFrame
    groups: tuple[str, str]


def check_settings_file(path: str | Path) -> None:
    """Refuse a file of settings that would not mean what it says, before it is merged."""
    content = read_settings(path)
    if not isinstance(content, Mapping):
        msg = f"{path}: must hold settings by name; found {type(content).__name__}. Correct it."
        raise ConfigError(msg)


def read_tables(config: Mapping[str, Any], schemas: str | Path, name: str) -> StudyTables:
    """Check ``config`` and its tables, each alone and against each other.

    Parameters
    ----------
    config : mapping
        The settings, as merged by Snakemake.
    schemas : path
        Folder with ``config.schema.yaml``, ``sites.schema.yaml`` and ``rois.schema.yaml``.
    name : str
        What to call the configuration in messages: its files.
    """
    schemas = Path(schemas)
    check_config(config, read_schema(schemas / "config.schema.yaml"), name)
    sites = read_checked_table(config["sites"], read_schema(schemas / "sites.schema.yaml"), "site")
    rois = read_checked_table(
        config["rois"]["table"], read_schema(schemas / "rois.schema.yaml"), "abbreviation"
    )
    study = StudyTables(
        sites=sites.set_index("site", drop=False),
        rois=rois.set_index("abbreviation", drop=False),
        groups=(config["groups"]["patients"], config["groups"]["controls"]),
    )
    found = [*_name_problems(study, config, name), *_roi_problems(study, config, name)]
    if config["source"]["kind"] == "phantom":
        pass_band = config["preproc"]["clean"]["band_hz"]
        found += band_problems("preproc.clean.band_hz", pass_band, *_protocols(study, config), name)
        found += _phantom_problems(study, config, name)
    if found:
        raise ConfigError("\n".join(found))
    return study


def _name_problems(study: StudyTables, config: Mapping[str, Any], name: str) -> Iterator[str]:
    patients, controls = study.groups
    if patients == controls:
        yield (
            f"{name}: groups.patients and groups.controls are both {patients!r}. "
            "Give the two groups different labels."
        )
    dataset = config["source"].get("dataset")
    datasets = dataset if isinstance(dataset, Mapping) else {}
    places: dict[str, Iterable[object]] = {
        f"{name}: groups": study.groups if patients != controls else (),
        f"{config['sites']}: the sites": study.sites.index,
        f"{name}: the sites of source.dataset": datasets,
    }
    for place, names in places.items():
        for several in alike(map(str, names)):
            yield (
                f"{place} {', '.join(several)} differ only by case, and some disks take them for "
                "one. Rename all but one."
            )


def _roi_problems(study: StudyTables, config: Mapping[str, Any], name: str) -> Iterator[str]:
    if config["rois"]["atlas"] == "surrogate" and config["source"]["kind"] != "phantom":
        yield (
            f"{name}: rois.atlas is 'surrogate', which is for the phantom alone. Give the path of "
            "an AAL image, or 'nilearn' to download it."
        )
    table, announced = config["rois"]["table"], config["rois"]["n_selected"]
    selected = int(study.rois["selected"].sum())
    if selected != announced:
        yield (
            f"{table}: {selected} regions are selected, {announced} are announced by "
            f"rois.n_selected in {name}. Correct the column 'selected' or the number."
        )
    expected = list(range(1, len(study.rois) + 1))
    found = study.rois["index"].tolist()
    if found != expected:
        row = next(
            i for i, pair in enumerate(zip(found, expected, strict=True)) if len({*pair}) > 1
        )
        yield (
            f"{table} row {row + 1}: index is {found[row]}, {expected[row]} was needed: the index "
            "counts the regions from 1 in the atlas's order. Sort or renumber the rows."
        )


def band_problems(
    key: str, band: Sequence[float], repetition_times: Mapping[str, float], source: str, name: str
) -> Iterator[str]:
    """Say what is wrong with a band, given each site's repetition time and where it stands."""
    yield from _order_problems(key, band, name)
    for site, repetition_time in repetition_times.items():
        nyquist = 0.5 / repetition_time
        if band[1] >= nyquist:
            yield (
                f"{name}: {key} reaches {band[1]} Hz, at or above the Nyquist frequency of site "
                f"{site}, {nyquist:.4g} Hz (TR {repetition_time} s in {source}). Lower "
                "the band or shorten the TR."
            )


def _protocols(study: StudyTables, config: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Repetition time of every site, and the table it stands in."""
    times = study.sites["repetition_time"]
    return {str(site): float(time) for site, time in times.items()}, config["sites"]


def _order_problems(key: str, pair: Sequence[float], name: str) -> Iterator[str]:
    if pair[0] >= pair[1]:
        yield (
            f"{name}: {key} is {list(pair)}: the first number must be below the second. "
            "Correct the order."
        )


def _phantom_problems(study: StudyTables, config: Mapping[str, Any], name: str) -> Iterator[str]:
    counts = {"phantom_patients": study.groups[0], "phantom_controls": study.groups[1]}
    for column, group in counts.items():
        few = study.sites[study.sites[column] < FEWEST_PER_GROUP]
        for site, count in few[column].items():
            yield (
                f"{config['sites']} site {site}: {column} is {count}, but every site needs at "
                f"least {FEWEST_PER_GROUP} subjects of group {group} for a discovery and a "
                "validation set. Raise the count or remove the site."
            )
    for key in ("network.weight_range", "scanner.gain_range"):
        section, setting = key.split(".")
        yield from _order_problems(f"phantom.{key}", config["phantom"][section][setting], name)
    anatomy = config["phantom"]["anatomy"]
    if anatomy["deformation_mm"] > STEEPEST * anatomy["deformation_fwhm_mm"]:
        yield (
            f"{name}: phantom.anatomy.deformation_mm is {anatomy['deformation_mm']}: more than "
            f"{STEEPEST} of deformation_fwhm_mm, {anatomy['deformation_fwhm_mm']}, folds space. "
            "Deform less or more smoothly."
        )
    band = config["phantom"]["signal"]["band_hz"]
    yield from band_problems("phantom.signal.band_hz", band, *_protocols(study, config), name)
    yield from _edge_problems(study, config, name)


def _edge_problems(study: StudyTables, config: Mapping[str, Any], name: str) -> Iterator[str]:
    network, d = config["phantom"]["network"], int(study.rois["selected"].sum())
    needed = (
        network["shared_edges"]
        + network["patients_edges"]
        + network["controls_edges"]
        + network["site_edges"] * len(study.sites)
    )
    room = d * (d - 1) // 2
    if needed > room:
        yield (
            f"{name}: phantom.network asks for {needed} different edges (shared, patients, "
            f"controls, and site_edges at {len(study.sites)} sites), but an acyclic network of "
            f"{d} regions has room for {room}. Ask for fewer edges."
        )
