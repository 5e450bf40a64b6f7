"""The methods describe the steps that were run, and cite their references and no others."""

import pandas as pd
import pytest

from notears_pfl.acquisition import MOTION
from notears_pfl.preproc.clean import CleanOptions, clean_methods
from notears_pfl.preproc.engines.ants import normalise as by_ants
from notears_pfl.preproc.engines.spm import normalise as by_spm
from notears_pfl.preproc.normalise import NormaliseOptions, normalise_sentence
from notears_pfl.preproc.nuisance import ACOMPCOR, COMPONENTS, NILEARN, nuisance_regressors
from notears_pfl.preproc.scrubbing import Scrub
from notears_pfl.report.sections.methods_paragraph import (
    STEP_REFERENCES,
    methods_section,
    references,
    step_sentences,
)

from ..toy import AAL, SURROGATE, toy_findings


def cleaning(strategy, order="dparsf", **options):
    """Give the sentences on cleaning with a named strategy."""
    ten = [*COMPONENTS["csf"], *COMPONENTS["white_matter"]]
    names = ["csf", "white_matter", "global_signal", *ten]
    tables = (pd.DataFrame(0.0, range(9), columns) for columns in (list(MOTION), names))
    section = {"strategy": strategy, "motion": "strategy", "tissues": "strategy", "columns": []}
    chosen = {key: {"columns": ten, "censored": []} for key in (ACOMPCOR, *NILEARN)}
    nuisance = nuisance_regressors(*tables, section, chosen)
    return clean_methods(CleanOptions(order=order, **options), nuisance)


STEPS = {
    "normalise": normalise_sentence(NormaliseOptions()),
    **cleaning("24P", scrub=Scrub(fd_mm=0.5)),
    **cleaning("24P", "simultaneous"),
}


def preprocessing(steps):
    """Give the paragraph on preprocessing of a study whose subjects all had these steps."""
    findings = toy_findings(reports={"sub-1": {"status": "ok", "methods": steps}})
    return methods_section(findings).content["paragraphs"]["Preprocessing"]


def test_methods_are_the_sentences_of_the_steps_that_ran_with_their_works():
    content = methods_section(toy_findings()).content

    assert "The first 10 volumes were left out." in content["paragraphs"]["Preprocessing"]
    assert "(Friston et al. 1996)" in content["paragraphs"]["Preprocessing"]
    assert "λ1 = 0.1" in content["paragraphs"]["Networks"]
    keys = [reference.key for reference in content["references"]]
    assert len(keys) == len(set(keys))
    for reference in content["references"]:
        assert reference.short in " ".join(content["paragraphs"].values())
        assert reference.bibtex in content["bibtex"]


def test_every_entry_of_the_bibliography_is_read_whole():
    works = references()

    assert len(works) == 19
    for work in works.values():
        assert work.bibtex.count(" = ") == len(work.fields)
    assert works["yan2010dparsf"].short == "Yan and Zang 2010"
    assert works["liu_notears_pfl"].short == "Liu et al."
    assert "for “pipeline” data analysis" in works["yan2010dparsf"].text
    assert works["power2012spurious"].text.endswith("NeuroImage 2012;59:2142–2154.")


@pytest.mark.parametrize(
    ("lambda1", "lambda2", "said"),
    [("auto", 0, True), (0.1, 0, False), ("auto", "auto", False)],
)
def test_methods_say_where_each_site_chose_its_sparsity(lambda1, lambda2, said):
    fit = toy_findings().fits["MDD"]
    settings = {**fit["Settings"], "lambda1": lambda1, "lambda2": lambda2}
    parameters = {**fit["Parameters"], "lambda2": 0.2 if lambda2 == "auto" else lambda2}
    fit = {**fit, "Settings": settings, "Parameters": parameters}

    content = methods_section(toy_findings(fits={"MDD": fit, "HC": fit})).content

    assert (", per site: mean)" in content["paragraphs"]["Networks"]) == said


def test_methods_say_of_each_penalty_whether_it_was_chosen_and_what_a_zero_means():
    findings = toy_findings()
    fit = findings.fits["MDD"]
    values = {"lambda1": 0.0, "lambda2": 0.08, "kappa": 0.0}
    fit = {**fit, "Settings": {**fit["Settings"], **values}, "Parameters": values}
    config = {**findings.config, "network": {**findings.config["network"]}}
    config["network"]["estimator"] = {**config["network"]["estimator"], "kappa": 0}

    study = toy_findings(fits={"MDD": fit, "HC": fit}, config=config)
    text = methods_section(study).content["paragraphs"]["Networks"]

    chosen = "(chosen from the data)"
    assert f"MDD: λ1 = 0 {chosen}, λ2 = 0.08 {chosen}, κ = 0 (configured)." in text
    assert text.count("the group penalty λ2 alone") == 1
    assert "with κ = 0 it does not pull" in text


def test_the_work_on_head_motion_is_cited_only_where_it_was_measured(findings):
    unknown = findings.cohort.assign(mean_fd_mm=float("nan"))
    still = toy_findings(tables={**findings.tables, "cohort": unknown})

    def cited(study):
        return [work.key for work in methods_section(study).content["references"]]

    assert "power2012spurious" in cited(findings)
    assert "power2012spurious" not in cited(still)


def test_methods_of_ready_series_claim_no_preprocessing():
    text = methods_section(toy_findings("timeseries")).content["paragraphs"]["Preprocessing"]

    assert text.startswith("The study started from preprocessed ROI time series")


def test_where_subjects_differ_a_sentence_says_for_how_many():
    reports = pd.DataFrame({"trim": ["A."] * 3, "timing": ["Shifted.", "Shifted.", "Not shifted."]})

    sentences = step_sentences(reports)

    assert sentences["trim"] == "A."
    assert sentences["timing"] == "Shifted (2 subjects); Not shifted (1 subject)."


def test_sentences_that_differ_in_a_number_are_one():
    texts = [f"Data were smoothed to {mm} mm FWHM." for mm in (7, 7, 6, 8)]

    sentences = step_sentences(pd.DataFrame({"smooth": texts}))

    expected = "Data were smoothed to 7 (2 subjects), 6 (1 subject) or 8 (1 subject) mm FWHM."
    assert sentences["smooth"] == expected


def test_a_sentence_that_ends_where_another_goes_on_stays_whole():
    texts = ["Kept at 4 mm.", "Kept at 4 mm to 4 mm."]

    sentences = step_sentences(pd.DataFrame({"resample": texts}))

    assert sentences["resample"] == "Kept at 4 mm (1 subject); Kept at 4 mm to 4 mm (1 subject)."


@pytest.mark.parametrize("step", STEP_REFERENCES)
def test_every_citation_belongs_to_a_step_that_exists_and_names_the_work(step):
    words = STEP_REFERENCES[step]

    assert any(word in STEPS[step] for word in words)
    assert set(words.values()) <= set(references())


@pytest.mark.parametrize(
    ("strategy", "cited"),
    [
        ("6P", ""),
        ("24P", "(Friston et al. 1996)"),
        ("36P", "(Satterthwaite et al. 2013)"),
        ("acompcor", "(Behzadi et al. 2007)"),
        ("compcor", "(Satterthwaite et al. 2013; Behzadi et al. 2007; Wang et al. 2024)"),
        ("ica_aroma", "(Pruim et al. 2015; Wang et al. 2024)"),
    ],
)
@pytest.mark.parametrize(("order", "step"), [("dparsf", "regress"), ("simultaneous", "clean")])
def test_a_strategy_cites_its_own_works(strategy, cited, order, step):
    sentence = cleaning(strategy, order)[step]

    text = preprocessing({step: sentence})

    assert text == (f"{sentence[:-1]} {cited}." if cited else sentence)


def test_a_study_with_36p_and_scrubbing_tells_each_step_once_and_in_order():
    text = preprocessing(cleaning("36P", scrub=Scrub(0.5, 1.5)))

    assert text == (
        "Volumes with a framewise displacement above 0.5 mm or a standardised DVARS above 1.5 were "
        "censored (Power et al. 2014). Each series was regressed on 36 nuisance regressors (the "
        "six head-motion parameters, their temporal derivatives, and the squares of both; the mean "
        "signals of CSF, white matter and the whole brain (global signal), their temporal "
        "derivatives, and the squares of both), a constant and a linear trend, fitted to the other "
        "volumes, and the residuals were kept (Satterthwaite et al. 2013). Censored volumes were "
        "replaced by linear interpolation for the filter. Residuals were band-pass filtered (0.01 "
        "to 0.08 Hz) with the ideal filter of DPARSF (Yan and Zang 2010). Censored volumes were "
        "then removed."
    )


def test_the_template_is_cited_where_it_was_used():
    def with_program(program):
        return {**STEPS, "normalise": normalise_sentence(NormaliseOptions(), program.name)}

    assert "(Fonov et al. 2011)" in preprocessing(STEPS)
    assert "(Fonov et al. 2011)" in preprocessing(with_program(by_ants))
    assert "Fonov" not in preprocessing(with_program(by_spm))


def test_six_parameters_of_motion_are_not_fristons():
    text = preprocessing(cleaning("6P"))

    assert "6 nuisance regressors (the six head-motion parameters)" in text
    assert "Friston" not in text


SCHAEFER = {
    "family": "other", "name": "Schaefer100", "title": "the Schaefer atlas of 100 parcels",
    "citation": "schaefer2018parcellation", "space": "MNI152NLin6Asym",
}  # fmt: skip


@pytest.mark.parametrize(
    ("atlas", "said"),
    [
        (SURROGATE, "56 regions of a surrogate parcellation around the coordinates of the AAL "
                    "atlas (Tzourio-Mazoyer et al. 2002) were"),
        (AAL, "56 regions of the AAL atlas (Tzourio-Mazoyer et al. 2002) were"),
        (SCHAEFER, "56 regions of the Schaefer atlas of 100 parcels (Schaefer et al. 2018) were"),
        (SCHAEFER | {"citation": "Doe 2020"}, "the Schaefer atlas of 100 parcels (Doe 2020) were"),
        (SCHAEFER | {"citation": ""}, "the Schaefer atlas of 100 parcels were"),
    ],
)  # fmt: skip
def test_the_regions_are_those_of_the_atlas_that_was_used(atlas, said):
    section = methods_section(toy_findings("timeseries", atlas=atlas))

    assert said in section.content["paragraphs"]["Networks"]
    cited = {reference.key for reference in section.content["references"]}
    assert ("tzourio2002aal" in cited) == ("AAL" in atlas["title"])


def test_only_limits_on_figures_that_are_known_are_said_to_exclude():
    findings = toy_findings("timeseries")

    def told():
        return " ".join(map(str, methods_section(findings).content["paragraphs"].values()))

    assert "displaced by more than 0.5 mm" in told()
    findings.cohort["share_fd_above"] = float("nan")
    assert "displaced by more than 0.5 mm" not in told()
    assert "mean framewise displacement" in told()
    fewest = findings.config["cohort"]["limits"]["min_volumes"]
    assert f"or if fewer than {fewest} volumes remained" in told()
