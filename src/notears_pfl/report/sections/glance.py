"""At a glance: the subjects, the main results, and points of caution."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from notears_pfl.report.findings import Findings, sites_of_one
from notears_pfl.report.page_parts import Section, first_of
from notears_pfl.report.sections.certainty import (
    FOUND,
    count,
    evidence_lines,
    label_lines,
    one_group_only,
)
from notears_pfl.report.sections.group_balance import balance_lines, matching_lines
from notears_pfl.report.sections.limits import selection_caution
from notears_pfl.report.sections.nodes import degrees_on_other_scale


def glance_section(findings: Findings) -> Section:
    """Show key numbers, main results, and the warnings that apply to this study."""
    return Section(
        "glance",
        "At a glance",
        {
            "tiles": list(_tiles(findings)),
            "results": list(_results(findings)),
            "careful": list(_careful(findings)),
            "is_phantom": findings.kind == "phantom",
        },
    )


def _tiles(findings: Findings) -> Iterator[tuple[str, str, str]]:
    cohort, flow = findings.cohort, findings.tables["flow"]
    yield str(len(findings.sites)), "sites", first_of(findings.sites)
    for group in findings.groups:
        members = cohort[cohort["group"] == group]
        halves = flow[flow["group"] == group][["discovery", "validation"]].sum()
        yield (
            f"{int(members['included'].sum())}",
            f"{group} included",
            f"of {len(members)} found; {halves['discovery']} discovery, "
            f"{halves['validation']} validation",
        )
    yield (
        str(len(findings.rois)),
        "regions",
        f"{findings.rois['lobe'].nunique()} {findings.class_of_regions}s",
    )
    for group, row in one_group_only(findings).items():
        yield (
            count(row["observed"]),
            f"connections at {sites_of_one(group, findings.groups)}",
            f"{count(row['expected'])} expected by chance ({count(row['low'])} to "
            f"{count(row['high'])}){_equal_numbers(row)}",
        )
    tested = findings.tables["evidence_tested"]
    yield (
        str(int((tested["q"] <= FOUND).sum())),
        "connections that differ between groups",
        f"q ≤ {FOUND}, of {len(tested)} tested",
    )


def _equal_numbers(row: Mapping[Hashable, Any]) -> str:
    """Say why a count differs from that in the networks of all subjects."""
    if row["observed"] == row["fits"]:
        return ""
    mean = "" if float(row["observed"]).is_integer() else ", mean over subsamples"
    return (
        f"; both in networks of equal numbers of subjects{mean}. The networks of all subjects, "
        f"below, have {count(row['fits'])}"
    )


def _results(findings: Findings) -> Iterator[str]:
    patients, controls = findings.groups
    counts = findings.tables["counts"].set_index(["result", "who"])
    edges = counts["directed"]["edges over all sites"]
    yield (
        f"{edges[patients]} directed edges in the {len(findings.sites)} networks of {patients}, "
        f"{edges[controls]} in those of {controls}."
    )
    overlap, n_sites = findings.tables["overlap"], len(findings.sites)
    for group, other in zip(findings.groups, findings.groups[::-1], strict=True):
        own = overlap[overlap["found_in"] == f"{group} only"]
        n_found = int((own["q"] <= FOUND).sum())
        if len(own):
            strongest = own.loc[own[f"weight_{group}"].abs().sort_values().index[::-1]].head(4)
            named = ", ".join(
                f"{row['from']} → {row['to']} ({other}: {row[f'n_sites_{other}']}/{n_sites})"
                for row in strongest.to_dict("records")
            )
            more = ", among others" if len(own) > len(strongest) else ""
            yield (
                f"At {sites_of_one(group, findings.groups)}, in the networks of all subjects: "
                f"{named}{more}; {n_found} of these {len(own)} differ between groups with "
                f"q ≤ {FOUND}."
            )
        else:
            yield f"No connection is found at {sites_of_one(group, findings.groups)}."
    yield from evidence_lines(findings)
    top = findings.tables["degree_top"]
    for group in findings.groups:
        first = top[(top["group"] == group) & (top["rank"] == 1)].set_index("direction")
        told: list[str] = []
        for direction, row in first.iterrows():
            elsewhere = degrees_on_other_scale(findings, group, str(direction))
            # Said at its first use.
            first_use = group == findings.groups[0] and not told
            defined = f", {findings.other_scale_words}," if first_use else ""
            rank = int((elsewhere > elsewhere[row["roi"]]).sum()) + 1
            told.append(
                f"{row['roi']} has the highest {direction} degree ({row['degree']}; on the other "
                f"scale of the data{defined} {elsewhere[row['roi']]}, rank {rank})"
            )
        yield (
            f"{group}: summed over sites, {' and '.join(told)}. Some region always has the highest."
        )


def _careful(findings: Findings) -> Iterator[str]:
    share = findings.tables["scale_audit"]["share_same_direction"].dropna()
    if len(share):
        low, high = f"{share.min():.0%}", f"{share.max():.0%}"
        span = low if low == high else f"{low} to {high}"
        yield (
            "Directions depend on the scaling of the data: on the other scale, "
            f"{findings.other_scale_words}, {span} of the "
            "shared connections, by site and group, keep their direction, where a coin gives 50%. "
            "The degrees of regions depend on it, too. The table of connections lists which agree."
        )
    else:
        yield "The networks on the other scale share no connection: do not trust any direction."
    stuck = [group for group, fit in findings.fits.items() if not fit["Converged"]]
    if stuck:
        yield f"The fit of {', '.join(stuck)} did not converge; see Provenance."
    for group, fit in findings.fits.items():
        for doubt in fit["Doubts"]:
            yield f"The fit of {group}: {doubt}"
    unclear = sum(sidecar["UnclearDirections"] for sidecar in findings.sidecars.values())
    if unclear:
        edges = sum(int((network.to_numpy() != 0).sum()) for network in findings.networks.values())
        yield (
            f"Even on this scale, the samples hardly tell the direction of {unclear} of {edges} "
            "edges (support below 90 %)."
        )
    out = findings.cohort[~findings.cohort["included"].astype(bool)]
    if len(out):
        yield f"Excluded: {len(out)} of {len(findings.cohort)} subjects; see Cohort for why."
    yield from matching_lines(findings)
    warned = [name for name in findings.reports if findings.cautions_on(name)]
    if warned:
        named = ", ".join(warned[:5]) + (", …" if len(warned) > 5 else "")
        yield (
            f"Preprocessing raised cautions for {len(warned)} of {len(findings.reports)} subjects "
            f"({named}): an unusual measure, or a step that did not converge. See their pages."
        )
    balance = findings.tables["balance"]
    unlike = list(balance_lines(balance, findings.groups))
    yield from unlike
    if unlike:
        yield "Such differences could explain differences between the groups' networks."
    if "mean_fd_mm" not in set(balance["variable"]):
        yield "Head motion is not known: the participants table has no column for it."
    if selection := selection_caution(findings):
        yield selection
    yield from label_lines(findings)
    few = {key: s["EffectiveSamples"] for key, s in findings.sidecars.items()}
    (group, site), least = min(few.items(), key=lambda item: item[1])
    yield (
        f"Volumes are not independent samples: the smallest data set ({group} at {site}) amounts "
        f"to about {least:.0f} independent samples for {len(findings.rois)} regions."
    )
    yield "Edges are directed dependencies, not proof of causation."
