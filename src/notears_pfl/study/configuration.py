"""Read a study's settings and tables; before any job starts, reject a study that cannot run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from notears_pfl.errors import ConfigError
from notears_pfl.io.schema import check_config, read_checked_table, read_schema
from notears_pfl.io.settings import read_settings
from notears_pfl.io.tables import completed_regions
from notears_pfl.names import alike
from notears_pfl.preproc.nuisance import NILEARN

# One subject for discovery and one for validation: the minimum for a 70/30 split.
FEWEST_PER_GROUP = 2
# Regions of one side reach this far across the middle at the most, mm.
ACROSS_MM = 5.0
# Largest ratio of deformation to FWHM; the gradient then has a standard deviation of 1/6.
STEEPEST_DEFORMATION = 0.1


@dataclass(frozen=True)
class StudyTables:
    """The checked tables of a study.

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
    """Reject an ambiguous or malformed settings file, before Snakemake merges it."""
    content = read_settings(path)
    if not isinstance(content, Mapping):
        msg = (
            f"{path}: must hold settings by name; found {type(content).__name__}. Correct the file."
        )
        raise ConfigError(msg)


def read_tables(config: Mapping[str, Any], schemas: str | Path, name: str) -> StudyTables:
    """Check ``config`` and its tables, one by one and against each other.

    Parameters
    ----------
    config : mapping
        The settings, as merged by Snakemake.
    schemas : path
        Folder with ``config.schema.yaml``, ``sites.schema.yaml`` and ``rois.schema.yaml``.
    name : str
        Name of the configuration in error messages: its files.
    """
    schemas = Path(schemas)
    check_config(config, read_schema(schemas / "config.schema.yaml"), name)
    sites = read_checked_table(config["sites"], read_schema(schemas / "sites.schema.yaml"), "site")
    table = config["rois"]["table"]
    rois = read_checked_table(table, read_schema(schemas / "rois.schema.yaml"), "abbreviation")
    study = StudyTables(
        sites=sites.set_index("site", drop=False),
        rois=completed_regions(rois, table).set_index("abbreviation", drop=False),
        groups=(config["groups"]["patients"], config["groups"]["controls"]),
    )
    selects = "selected" in rois
    found = [*_name_problems(study, config, name), *_roi_problems(study, config, name, selects)]
    found += _strategy_problems(config, name)
    if config["source"]["kind"] == "phantom":
        pass_band = config["preproc"]["clean"]["band_hz"]
        found += band_problems(
            "preproc.clean.band_hz", pass_band, *_repetition_times(study, config), name
        )
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
                f"{place} {', '.join(several)} differ only by case; some file systems treat such "
                "names as one. Rename all but one."
            )


def _roi_problems(
    study: StudyTables, config: Mapping[str, Any], name: str, selects: bool
) -> Iterator[str]:
    """Problems of the ROI table; ``selects``: whether it says which regions are selected."""
    if config["rois"]["atlas"] == "surrogate" and config["source"]["kind"] != "phantom":
        yield (
            f"{name}: rois.atlas is 'surrogate', which works for the phantom only. Give the path "
            "of the atlas's image, or 'nilearn' to download AAL."
        )
    if config["rois"]["atlas"] in ("auto", "nilearn") and _needs_image(config, study.rois):
        yield (
            f"{name}: rois.atlas is {config['rois']['atlas']!r}, which downloads AAL, but "
            f"{config['rois']['table']} has no column aal_code: it is the table of another atlas. "
            "Give the path of that atlas's image."
        )
    table, expected_number = config["rois"]["table"], config["rois"]["n_selected"]
    selected = int(study.rois["selected"].sum())
    if selects and selected != expected_number:
        yield (
            f"{table}: {selected} regions are selected, but rois.n_selected in {name} is "
            f"{expected_number}. Correct the column 'selected' or the number."
        )
    expected = list(range(1, len(study.rois) + 1))
    found = study.rois["index"].tolist()
    if found != expected:
        row = next(
            i for i, pair in enumerate(zip(found, expected, strict=True)) if len({*pair}) > 1
        )
        yield (
            f"{table} row {row + 1}: index is {found[row]}, but {expected[row]} was expected: the "
            "index numbers the regions from 1 in the atlas's order. Sort or renumber the rows."
        )
    yield from _code_problems(study.rois, table)
    wrong = _on_the_other_side(study.rois)
    if len(wrong) > len(study.rois) // 4:
        yield (
            f"{table}: left and right are swapped: {len(wrong)} regions whose names say left or "
            f"right lie on the other side (x is positive to the right), such as {wrong[0]} at x = "
            f"{study.rois['x'][wrong[0]]:g} mm. Correct the sign of x, or the names."
        )


def _needs_image(config: Mapping[str, Any], rois: pd.DataFrame) -> bool:
    """Whether the study extracts series with an atlas that is not AAL."""
    return config["source"]["kind"] not in ("phantom", "timeseries") and "aal_code" not in rois


def _code_problems(rois: pd.DataFrame, table: str) -> Iterator[str]:
    codes = rois.get("code", pd.Series(dtype=int))
    for code in codes[codes.duplicated()].unique():
        several = rois.index[codes == code]
        yield (
            f"{table}: code {code} belongs to {', '.join(several)}. The code is a region's number "
            "in the image: give each region its own."
        )


def _on_the_other_side(rois: pd.DataFrame) -> list[str]:
    """Regions with a mark of left or right in their names, and x far on the other side, mm."""
    sign = {"L": -1, "LH": -1, "R": 1, "RH": 1}
    return [
        str(name)
        for name, x in rois["x"].items()
        for sides in [{sign[part] for part in str(name).upper().split(".") if part in sign}]
        if len(sides) == 1 and x * sides.pop() < -ACROSS_MM
    ]


def _strategy_problems(config: Mapping[str, Any], name: str) -> Iterator[str]:
    strategy, kind = config["preproc"]["clean"]["strategy"], config["source"]["kind"]
    if strategy in NILEARN and kind not in ("fmriprep", "timeseries"):
        yield (
            f"{name}: preproc.clean.strategy is {strategy!r}, which chooses columns of fMRIPrep's "
            f"confounds, but source.kind is {kind!r}. Choose another strategy."
        )


def band_problems(
    key: str, band: Sequence[float], repetition_times: Mapping[str, float], source: str, name: str
) -> Iterator[str]:
    """Yield the problems of a frequency band, given the repetition time of each site.

    ``source`` says where these times come from.
    """
    yield from _order_problems(key, band, name)
    for site, repetition_time in repetition_times.items():
        nyquist = 0.5 / repetition_time
        if band[1] >= nyquist:
            yield (
                f"{name}: {key} reaches {band[1]} Hz, at or above the Nyquist frequency of site "
                f"{site}, {nyquist:.4g} Hz (TR {repetition_time} s in {source}). Lower "
                "the band or shorten the TR."
            )


def _repetition_times(
    study: StudyTables, config: Mapping[str, Any]
) -> tuple[dict[str, float], str]:
    """Repetition time of every site, and the table that gives it."""
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
                f"least {FEWEST_PER_GROUP} subjects in group {group} for a discovery and a "
                "validation set. Raise the count or remove the site."
            )
    for key in ("network.weight_range", "scanner.gain_range"):
        section, setting = key.split(".")
        yield from _order_problems(f"phantom.{key}", config["phantom"][section][setting], name)
    anatomy = config["phantom"]["anatomy"]
    if anatomy["deformation_mm"] > STEEPEST_DEFORMATION * anatomy["deformation_fwhm_mm"]:
        yield (
            f"{name}: phantom.anatomy.deformation_mm is {anatomy['deformation_mm']}, more than "
            f"{STEEPEST_DEFORMATION} of deformation_fwhm_mm, {anatomy['deformation_fwhm_mm']}; it "
            "would fold space. Lower deformation_mm or raise deformation_fwhm_mm."
        )
    band = config["phantom"]["signal"]["band_hz"]
    yield from band_problems(
        "phantom.signal.band_hz", band, *_repetition_times(study, config), name
    )
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
            f"{name}: phantom.network specifies {needed} different edges (shared, patients, "
            f"controls, and site_edges at {len(study.sites)} sites), but an acyclic network of "
            f"{d} regions has at most {room}. Specify fewer edges."
        )
