"""Methods: a paragraph from the steps that really ran, with references."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from notears_pfl.report.citations import bibliography, cite
from notears_pfl.report.findings import Findings
from notears_pfl.report.page import Section
from notears_pfl.version import __version__

# Gives a citation of works by their keys, and remembers that they were cited.
Citing = Callable[..., str]

# Work that stands behind a step of preprocessing, by the key of its sentence, where that names it.
BEHIND_STEPS = {
    "normalise": ("ICBM 2009a", "fonov2011atlases"),
    "regress": ("Friston", "friston1996movement"),
    "clean": ("Friston", "friston1996movement"),
    "filter": ("DPARSF", "yan2010dparsf"),
}
SCALES = {
    "subject": "divided by one factor per subject (its root mean square over all regions)",
    "roi": "scaled to unit variance, region by region and subject by subject",
}
PENALTIES = {
    "edgewise": "an edge-wise group penalty that ties the sites' weights of each edge",
    "chain": "the paper's group-fused penalty over neighbouring sites, in the order {order}",
}


def methods_section(findings: Findings) -> Section:
    """Write the paragraphs and the list of works that they cite."""
    used: list[str] = []

    def behind(*keys: str) -> str:
        used.extend(keys)
        return cite(*keys)

    paragraphs = {
        "Preprocessing": " ".join(_preprocessing(findings, behind)),
        "Cohort": " ".join(_cohort(findings, behind)),
        "Networks": " ".join(_networks(findings, behind)),
        "Analyses": " ".join(_analyses(findings, behind)),
    }
    works = bibliography(used)
    return Section(
        "methods",
        "Methods",
        {
            "paragraphs": paragraphs,
            "works": works,
            "bibtex": "\n\n".join(work.bibtex for work in works),
        },
    )


def step_sentences(reports: pd.DataFrame) -> dict[str, str]:
    """Sentence of each step; where subjects differ, each with the number it holds for.

    ``reports`` has a row per subject and a column per step.
    """
    sentences = {}
    for step in reports:
        counts = reports[step].dropna().value_counts(sort=False)
        if len(counts) == 1 and counts.iloc[0] == len(reports):
            sentences[str(step)] = str(counts.index[0])
        else:
            sentences[str(step)] = _for_some({str(t).rstrip("."): n for t, n in counts.items()})
    return sentences


def _for_some(counts: Mapping[str, int]) -> str:
    """Say sentences that hold for ``counts`` subjects; as one where only the middle differs."""
    words = [text.split(" ") for text in counts]
    start = _common(words)
    end = _common([text[start:][::-1] for text in words])
    middles = [" ".join(text[start : len(text) - end]) for text in words]
    numbers = [f"({n} subject{'s'[: n > 1]})" for n in counts.values()]
    short = all(middle and len(middle.split(" ")) <= 3 for middle in middles)
    if len(words) == 1 or not start or not short:
        return "; ".join(f"{t} {n}" for t, n in zip(counts, numbers, strict=True)) + "."
    each = [f"{middle} {n}" for middle, n in zip(middles, numbers, strict=True)]
    listed = f"{', '.join(each[:-1])} or {each[-1]}"
    return " ".join([*words[0][:start], listed, *words[0][len(words[0]) - end :]]) + "."


def _common(texts: Sequence[Sequence[str]]) -> int:
    """Count the words that all texts begin with."""
    alike = [len(set(column)) == 1 for column in zip(*texts, strict=False)]
    return [*alike, False].index(False)


def _preprocessing(findings: Findings, behind: Citing) -> Iterator[str]:
    ok = [r["methods"] for r in findings.reports.values() if "methods" in r]
    if not ok:
        yield "Series of the regions were taken as they were; images were not part of this study."
        return
    for step, sentence in step_sentences(pd.DataFrame(ok)).items():
        name, work = BEHIND_STEPS.get(step, ("", ""))
        yield f"{sentence.rstrip('.')} {behind(work)}." if work and name in sentence else sentence


def _cohort(findings: Findings, behind: Citing) -> Iterator[str]:
    limits, share = findings.config["cohort"]["limits"], findings.config["cohort"]
    cohort = findings.cohort
    yield (
        "A subject was left out if its processing failed, if its mean framewise displacement "
        f"{behind('power2012spurious')} exceeded {limits['max_mean_fd_mm']:g} mm, if more than "
        f"{limits['max_share_fd_above']:.0%} of its volumes were displaced by more than 0.5 mm, "
        f"or if fewer than {limits['min_volumes']} volumes were left."
    )
    if "bold_t1w_agreement" in cohort and cohort["bold_t1w_agreement"].notna().any():
        yield (
            "It was also left out if the T1w image's tissues explained less than "
            f"{limits['min_bold_t1w_agreement']:.1%} of the variance of its mean BOLD image."
        )
    if "mean_fd_mm" not in cohort or cohort["mean_fd_mm"].isna().all():
        yield "Displacement was not known in this study and not judged."
    yield (
        f"{int(cohort['included'].sum())} of {len(cohort)} subjects stayed. Of each site and "
        f"group, {share['discovery_share']:.0%} were drawn (seed {findings.config['seed']}) for "
        "discovery and the others kept for validation."
    )


def _networks(findings: Findings, behind: Citing) -> Iterator[str]:
    fit = findings.fits[findings.groups[0]]
    penalty = PENALTIES[fit["Settings"]["penalty"]].format(order=", ".join(fit["SiteOrder"]))
    surrogate = "a surrogate parcellation around the coordinates of "
    yield (
        f"Series of {len(findings.rois)} regions of "
        f"{surrogate if findings.has_surrogate_atlas else ''}the AAL atlas "
        f"{behind('tzourio2002aal')} were centred per subject, "
        f"{SCALES[fit['Scale']]}, and concatenated per site and group."
    )
    yield (
        "For each group, one directed acyclic network per site was learned by NOTEARS-PFL "
        f"{behind('liu_notears_pfl')}: continuous structure learning "
        f"{behind('zheng2018notears')}, jointly over the sites by the alternating direction "
        f"method of multipliers {behind('boyd2011admm')}, with {penalty}."
    )
    for group in findings.groups:
        values = findings.fits[group]["Parameters"]
        chosen = [name for name in values if fit["Settings"][name] == "auto"]
        named = ", ".join(f"{_greek(name)} = {value:.3g}" for name, value in values.items())
        how = "chosen from the data" if len(chosen) == len(values) else "as configured or chosen"
        separate = values["lambda2"] == 0 and "lambda1" in chosen
        yield f"{group}: {named} ({how}{', λ1 by each site: its mean' if separate else ''})."
    yield f"Edges of absolute weight below {fit['Settings']['threshold']:g} were dropped."


def _analyses(findings: Findings, behind: Citing) -> Iterator[str]:
    threshold = findings.config["analysis"]["edge_threshold"]
    yield (
        "A connection counts as present where its absolute weight exceeds "
        f"{threshold:g}; it overlaps where every site of a group has it, and is site-specific "
        "where exactly one site has it. Degrees are numbers of edges, summed over sites."
    )
    works = behind("reisach2021beware", "reisach2023scale")
    yield (
        "All networks were learned again on the other scale, and var- and R²-sortability "
        f"computed {works}, to say how far directions rest on scale."
    )
    yield (
        f"The study ran with NOTEARS-PFL {__version__} under Snakemake "
        f"{behind('molder2021snakemake')}."
    )


def _greek(name: str) -> str:
    return {"lambda1": "λ1", "lambda2": "λ2", "kappa": "κ"}.get(name, name)
