"""The methods describe the steps that were run, and cite their references and no others."""

import pandas as pd
import pytest

from notears_pfl.acquisition import MOTION
from notears_pfl.preproc.clean import FRISTON_24, CleanOptions, clean_methods
from notears_pfl.preproc.engines.ants import normalise as by_ants
from notears_pfl.preproc.engines.spm import normalise as by_spm
from notears_pfl.preproc.normalise import NormaliseOptions, normalise_sentence
from notears_pfl.report.sections.methods_paragraph import (
    STEP_REFERENCES,
    methods_section,
    references,
    step_sentences,
)

from ..toy import AAL, SURROGATE, toy_findings

STEPS = {
    "normalise": normalise_sentence(NormaliseOptions()),
    **clean_methods(CleanOptions(order="dparsf"), list(FRISTON_24)),
    **clean_methods(CleanOptions(order="simultaneous"), list(FRISTON_24)),
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

    assert len(works) == 14
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

    assert ("λ1 per site: mean" in content["paragraphs"]["Networks"]) == said


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
    word, _ = STEP_REFERENCES[step]

    assert word in STEPS[step]


def test_the_template_is_cited_where_it_was_used():
    def with_program(program):
        return {**STEPS, "normalise": normalise_sentence(NormaliseOptions(), program.name)}

    assert "(Fonov et al. 2011)" in preprocessing(STEPS)
    assert "(Fonov et al. 2011)" in preprocessing(with_program(by_ants))
    assert "Fonov" not in preprocessing(with_program(by_spm))


def test_six_parameters_of_motion_are_not_fristons():
    text = preprocessing(clean_methods(CleanOptions(), list(MOTION)))

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
