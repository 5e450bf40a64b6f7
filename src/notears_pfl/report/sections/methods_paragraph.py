"""Methods: a paragraph written from the steps that were run, with references."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd

from notears_pfl.cohort.covariates import listed
from notears_pfl.report.findings import Findings
from notears_pfl.report.page import TEMPLATES
from notears_pfl.report.page_parts import Section
from notears_pfl.version import __version__

# Turns keys of references into a citation, and records that they were cited.
Cite = Callable[..., str]

# References to cite for a preprocessing step if its sentence contains the given words.
REGRESSORS = {
    "Friston": "friston1996movement",
    "squares of both": "satterthwaite2013improved",
    "principal components": "behzadi2007compcor",
    "CompCor": "behzadi2007compcor",
    "ICA-AROMA": "pruim2015aroma",
    "nilearn": "wang2024benchmark",
}
STEP_REFERENCES = {
    "normalise": {"ICBM 2009a": "fonov2011atlases"},
    "censor": {"censored": "power2014methods"},
    "regress": REGRESSORS,
    "clean": REGRESSORS,
    "filter": {"DPARSF": "yan2010dparsf"},
}
SCALES = {
    "subject": "divided by one factor per subject (its root mean square over all regions)",
    "roi": "scaled to unit variance, region by region and subject by subject",
}
PENALTIES = {
    "edgewise": "an edge-wise group penalty that couples the weights of each edge across sites",
    "chain": "the paper's group-fused penalty over neighbouring sites, in the order {order}",
}
ENTRY = re.compile(r"@(?P<kind>\w+)\{(?P<key>\w+),\n(?P<fields>.*?)\n\}", re.DOTALL)
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """An entry of ``references.bib``, as it stands there and by its fields."""

    key: str
    bibtex: str
    fields: Mapping[str, str]

    @property
    def short(self) -> str:
        """Citation: surnames and year."""
        surnames = [author.split(",")[0] for author in self.fields["author"].split(" and ")]
        names = f"{surnames[0]} et al." if len(surnames) > 2 else " and ".join(surnames)
        return f"{names} {self.fields.get('year', '')}".strip()

    @property
    def text(self) -> str:
        """One line for the list of references."""
        entry = self.fields
        place = entry.get("journal") or entry.get("booktitle") or entry.get("note", "")
        pages = entry.get("pages", "").replace("--", "–")
        numbers = ":".join(part for part in (entry.get("volume"), pages) if part)
        year = f" {entry['year']}" if "year" in entry else ""
        authors = entry["author"].replace(" and others", " et al.").replace(" and ", "; ")
        title = entry["title"].rstrip("!").replace("``", "“").replace("''", "”")
        line = f"{authors.rstrip('.')}. {title}. {place}{year}"
        return f"{line};{numbers}." if numbers else f"{line}."


@cache
def references() -> dict[str, Reference]:
    """Read all references by key."""
    text = (TEMPLATES / "references.bib").read_text(encoding="utf-8")
    return {
        found["key"]: Reference(found["key"], found[0], dict(FIELD.findall(found["fields"])))
        for found in ENTRY.finditer(text)
    }


def methods_section(findings: Findings) -> Section:
    """Write the paragraphs and the list of references that they cite."""
    cited: dict[str, Reference] = {}

    def cite(*keys: str) -> str:
        found = {key: references()[key] for key in keys}
        cited.update(found)
        return "(" + "; ".join(reference.short for reference in found.values()) + ")"

    paragraphs = {
        "Preprocessing": " ".join(_preprocessing(findings, cite)),
        "Cohort": " ".join(_cohort(findings, cite)),
        "Networks": " ".join(_networks(findings, cite)),
        "Analyses": " ".join(_analyses(findings, cite)),
    }
    return Section(
        "methods",
        "Methods",
        {
            "paragraphs": paragraphs,
            "references": list(cited.values()),
            "bibtex": "\n\n".join(reference.bibtex for reference in cited.values()),
        },
    )


def step_sentences(reports: pd.DataFrame) -> dict[str, str]:
    """Sentence of each step; where subjects differ, each version with its number of subjects.

    ``reports`` has a row per subject and a column per step.
    """
    sentences = {}
    for step in reports:
        counts = reports[step].dropna().value_counts(sort=False)
        if len(counts) == 1 and counts.iloc[0] == len(reports):
            sentences[str(step)] = str(counts.index[0])
        else:
            versions = {str(text).rstrip("."): n for text, n in counts.items()}
            sentences[str(step)] = _join_versions(versions)
    return sentences


def _join_versions(counts: Mapping[str, int]) -> str:
    """Join the versions of a sentence; into one where only a few words in the middle differ."""
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
    """Count the leading words that all texts share."""
    alike = [len(set(column)) == 1 for column in zip(*texts, strict=False)]
    return [*alike, False].index(False)


def _preprocessing(findings: Findings, cite: Cite) -> Iterator[str]:
    ok = [r["methods"] for r in findings.reports.values() if "methods" in r]
    if not ok:
        yield "The study started from preprocessed ROI time series; no images were processed."
        return
    for step, sentence in step_sentences(pd.DataFrame(ok)).items():
        known = STEP_REFERENCES.get(step, {})
        keys = dict.fromkeys(key for word, key in known.items() if word in sentence)
        yield f"{sentence.rstrip('.')} {cite(*keys)}." if keys else sentence


def _cohort(findings: Findings, cite: Cite) -> Iterator[str]:
    limits, share = findings.config["cohort"]["limits"], findings.config["cohort"]
    cohort = findings.cohort
    # A limit on a figure that nobody has measured excludes no one.
    reasons = {
        "mean_fd_mm": "if mean framewise displacement {power} exceeded "
        f"{limits['max_mean_fd_mm']:g} mm",
        "share_fd_above": f"if more than {limits['max_share_fd_above']:.0%} of volumes were "
        "displaced by more than 0.5 mm",
        "n_volumes": f"if fewer than {limits['min_volumes']} volumes remained",
    }
    judged = [
        reason.replace("{power}", cite("power2012spurious")) if "{power}" in reason else reason
        for name, reason in reasons.items()
        if name in cohort and cohort[name].notna().any()
    ]
    *first, last = ["if processing failed", *judged]
    yield f"Subjects were excluded {', '.join(first)}{', or ' if first else ''}{last}."
    if "bold_t1w_agreement" in cohort and cohort["bold_t1w_agreement"].notna().any():
        yield (
            "They were also excluded if the T1w image or its registration was implausible: brain "
            f"volume outside {limits['min_brain_ml']:g} to {limits['max_brain_ml']:g} ml, a "
            "correlation with the template below "
            f"{limits['min_template_agreement']:g}, less than "
            f"{limits['min_bold_t1w_agreement']:.0%} of the white matter's surface with the usual "
            "contrast in the BOLD image, or less than "
            f"{limits['min_brain_coverage']:.0%} of the brain covered (all limits: Provenance)."
        )
    if "mean_fd_mm" not in cohort or cohort["mean_fd_mm"].isna().all():
        yield "Framewise displacement was not available and not used."
    if share["match"]:
        yield (
            f"Within each site, patients were matched to controls on {listed(share['match'])}: the "
            "most pairs with equal categories and numbers that differ by at most "
            f"{share['caliper']:g} standard deviations (within sites and groups), and of these the "
            "set of pairs with the smallest sum of standardised distances. Subjects without a "
            "partner were excluded; the two subjects of a pair were kept in the same set."
        )
    else:
        yield "Patients and controls were not matched."
    yield (
        f"{int(cohort['included'].sum())} of {len(cohort)} subjects were included. For each site "
        f"and group, {share['discovery_share']:.0%} were drawn at random (seed "
        f"{findings.config['seed']}) for discovery; the others were kept for validation."
    )


def _networks(findings: Findings, cite: Cite) -> Iterator[str]:
    fit = findings.fits[findings.groups[0]]
    penalty = PENALTIES[fit["Settings"]["penalty"]].format(order=", ".join(fit["SiteOrder"]))
    yield (
        f"Time series of {len(findings.rois)} regions of "
        f"{_with_citation(findings.atlas, cite)} were centred per subject, "
        f"{SCALES[fit['Scale']]}, and concatenated per site and group."
    )
    yield (
        "For each group, one directed acyclic network per site was estimated with NOTEARS-PFL "
        f"{cite('liu_notears_pfl')}: continuous structure learning "
        f"{cite('zheng2018notears')}, jointly over the sites with the alternating direction "
        f"method of multipliers {cite('boyd2011admm')}, with {penalty}."
    )
    configured = findings.config["network"]["estimator"]
    for group in findings.groups:
        values = findings.fits[group]["Parameters"]
        separate = values["lambda2"] == 0 and fit["Settings"]["lambda1"] == "auto"
        named = [
            f"{_greek(name)} = {value:.3g} ({'chosen from the data' if auto else 'configured'}"
            f"{', per site: mean' if separate and name == 'lambda1' else ''})"
            for name, value in values.items()
            for auto in ("auto" in (fit["Settings"][name], configured.get(name)),)
        ]
        yield f"{group}: {', '.join(named)}."
    if fit["Settings"]["penalty"] == "edgewise" and values["lambda1"] == 0 < values["lambda2"]:
        yield (
            "With λ1 = 0, no site's edges are penalised one by one: the group penalty λ2 alone "
            "makes the networks sparse"
            + (
                ", and with κ = 0 it does not pull the weights of an edge at the sites together."
                if values["kappa"] == 0
                else "."
            )
        )
    yield (
        "In the orders of the regions that this gave, an edge was kept if, by its Bayes factors "
        "with effectively independent samples, it more probably than not existed with an absolute "
        f"weight above {fit['Settings']['threshold']:g}; the weights are those of regressions on "
        "the edges that were kept."
    )


def _with_citation(atlas: Mapping[str, str], cite: Cite) -> str:
    """Title of the atlas and its citation: a reference of ours, or text of the user's."""
    citation = atlas["citation"]
    if citation in references():
        return f"{atlas['title']} {cite(citation)}"
    return f"{atlas['title']} ({citation})" if citation else atlas["title"]


def _analyses(findings: Findings, cite: Cite) -> Iterator[str]:
    threshold = findings.config["analysis"]["edge_threshold"]
    yield (
        "A connection was counted as present if its absolute weight exceeded "
        f"{threshold:g}, as overlapping if it was present at every site of a group, and as "
        "site-specific if it was present at exactly one site. Degrees are numbers of edges, summed "
        "over sites."
    )
    yield (
        "To assess how far directions depend on scaling, all networks were estimated again on the "
        "other scale, and var- and R²-sortability were computed "
        f"{cite('reisach2021beware', 'reisach2023scale')}."
    )
    yield from _individual(findings)
    yield (
        f"The study ran with NOTEARS-PFL {__version__} under Snakemake "
        f"{cite('molder2021snakemake')}."
    )


def _individual(findings: Findings) -> Iterator[str]:
    if "weight_regression" in findings.tables:
        columns = findings.config["analysis"]["regress_on"]
        covariates = findings.config["analysis"].get("regress_covariates", [])
        beside = f", {' and '.join(covariates)} as covariates" if covariates else ""
        yield (
            "The weights of each network's edges were estimated again in every included subject of "
            f"its site and group, and regressed on {' and on '.join(columns)} by least squares, "
            f"within groups, with an intercept per site{beside}; p-values were adjusted for the "
            "false discovery rate over the connections of both groups."
        )


def _greek(name: str) -> str:
    return {"lambda1": "λ1", "lambda2": "λ2", "kappa": "κ"}.get(name, name)
