"""nilearn's strategies on the confounds of real runs of fMRIPrep, which its wheel brings along."""

import shutil
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
import yaml

from notears_pfl.acquisition import MOTION
from notears_pfl.errors import SignalError
from notears_pfl.io.tables import read_confounds
from notears_pfl.preproc.fmriprep import NUMBERS, non_steady_volumes
from notears_pfl.preproc.nilearn_strategies import SETS, chosen_confounds
from notears_pfl.preproc.nuisance import ACOMPCOR, NILEARN, nuisance_regressors

from .toy import ROOT

DATA = files("nilearn.interfaces.fmriprep") / "data"
SECTION = yaml.safe_load((ROOT / "config/config.yaml").read_text())["preproc"]["clean"]
# fMRIPrep 1.4 to 20.1 and 21: the older names the table "regressors".
OLD, NEW = "test_desc-confounds_regressors", "test-v21_desc-confounds_timeseries"
BARE = "no_nonsteady_desc-confounds_regressors"
TERMS = ["", "_derivative1", "_power2", "_derivative1_power2"]


@pytest.fixture(params=[OLD, NEW], ids=["old", "new"])
def table(request, tmp_path):
    return copied(request.param, tmp_path)


def copied(name, folder):
    target = folder / f"sub-01_task-rest_desc-{name.partition('_desc-')[2]}.tsv"
    shutil.copy(DATA / f"{name}.tsv", target)
    if name != BARE:
        shutil.copy(DATA / f"{name}.json", target.with_suffix(".json"))
    return target


def regressors(path, strategy, n_dropped=0, **changes):
    confounds = read_confounds(path, NUMBERS).iloc[n_dropped:].reset_index(drop=True)
    section = {**SECTION, "strategy": strategy, **changes}
    chosen = chosen_confounds(path, n_dropped)
    return nuisance_regressors(confounds[list(MOTION)], confounds, section, chosen)


def test_every_strategy_of_nilearn_has_its_arguments():
    assert set(SETS) == {*NILEARN, ACOMPCOR}


def test_simple_is_24_terms_of_motion_two_tissues_and_the_cosines(table):
    confounds = pd.read_csv(table, sep="\t")

    found = regressors(table, "simple").table

    cosines = [name for name in confounds if name.startswith("cosine")]
    motion = [f"{name}{term}" for name in MOTION for term in TERMS]
    assert set(found) == {*motion, "csf", "white_matter", *cosines}
    for name, column in found.items():
        np.testing.assert_array_equal(column[1:], confounds[name][1:])
        first = confounds[name][1 if np.isnan(confounds[name][0]) else 0]
        assert column[0] == first


def test_compcor_takes_the_retained_components_of_the_combined_mask(table):
    found = regressors(table, "compcor").table

    names = found.columns[found.columns.str.contains("comp_cor")]
    assert len(names) == (57 if "regressors" in table.name else 5)
    assert names.str.startswith("a_comp_cor_").all()


def test_our_acompcor_finds_each_tissues_components_under_either_naming(table):
    found = regressors(table, "acompcor")

    names = sorted(name for name in found.table if "comp_cor" in name)
    old = [f"a_comp_cor_{number}" for number in (*range(57, 62), *range(70, 75))]
    # fMRIPrep 21 names them by tissue, and retained fewer in this run.
    new = [f"c_comp_cor_0{n}" for n in range(3)] + [f"w_comp_cor_0{n}" for n in range(4)]
    is_old = "regressors" in table.name
    assert names == (old if is_old else new)
    assert {f"{name}_derivative1" for name in MOTION} <= set(found.table)
    assert f"first {'five' if is_old else 'up to five'} principal" in found.words
    assert found.words.endswith(", cosines of slow drifts")
    assert found.censored == ()


def test_aroma_takes_the_components_of_noise_where_they_are(tmp_path):
    found = regressors(copied(OLD, tmp_path), "ica_aroma").table

    assert found.columns.str.startswith("aroma_motion_").sum() == 13
    assert {"csf", "white_matter"} <= set(found)


def test_a_run_without_aroma_lacks_that_strategy_alone(tmp_path):
    with pytest.raises(SignalError, match=r"confounds of ica_aroma, which this run lacks: .*aroma"):
        regressors(copied(NEW, tmp_path), "ica_aroma")


def test_volumes_before_the_steady_state_are_censored_unless_dropped(table):
    n_early = non_steady_volumes(pd.read_csv(table, sep="\t", nrows=0))

    assert list(regressors(table, "simple").censored) == list(range(n_early))
    assert list(regressors(table, "simple", n_dropped=1).censored) == list(range(n_early - 1))
    assert list(regressors(table, "simple", n_dropped=n_early).censored) == []


def test_scrubbing_censors_volumes_that_moved_and_short_segments_between(tmp_path):
    path = copied(NEW, tmp_path)
    confounds = pd.read_csv(path, sep="\t")
    calm = confounds.assign(framewise_displacement=0.1, std_dvars=1.0)
    calm.loc[[10, 14], "framewise_displacement"] = 0.6
    calm.loc[22, "std_dvars"] = 1.6
    calm.to_csv(path, sep="\t", index=False)

    found = regressors(path, "scrubbing", n_dropped=3)

    # The segment 11 to 13 has fewer than five volumes.
    assert [volume + 3 for volume in found.censored] == [10, 11, 12, 13, 14, 22]
    assert {"csf_derivative1_power2", "white_matter_power2"} <= set(found.table)
    assert "a framewise displacement above 0.5 mm" in found.censors


def test_36p_of_fmriprep_equals_its_own_expansion(table):
    confounds = pd.read_csv(table, sep="\t")

    found = regressors(table, "36P").table

    assert found.shape[1] == 36
    for name, column in found.items():
        # The file was cut from a run: the first of its derivatives is not that of its volumes.
        np.testing.assert_allclose(column[2:], confounds[name][2:], rtol=1e-4, atol=1e-4)


def test_any_column_can_be_named(table):
    found = regressors(table, "6P", columns=["framewise_displacement", "a_comp_cor_01"]).table

    assert list(found) == [*MOTION, "framewise_displacement", "a_comp_cor_01"]


def test_a_table_without_its_description_has_no_components_and_says_why(tmp_path):
    path = copied(BARE, tmp_path)

    assert regressors(path, "simple").table.shape[1] == 30
    for strategy in ("compcor", "acompcor"):
        with pytest.raises(SignalError, match="Could not find associated json file"):
            regressors(path, strategy)


def test_neither_tables_of_other_runs_nor_the_folders_name_mislead_nilearn(tmp_path):
    expected = chosen_confounds(copied(NEW, tmp_path), 0)
    folder = tmp_path / "as_tsv"
    folder.mkdir()
    path = copied(NEW, folder)
    run = path.rename(path.with_name(path.name.replace("_desc", "_run-1_desc")))
    path.with_suffix(".json").rename(run.with_suffix(".json"))
    copied(BARE, folder).rename(path)

    found = chosen_confounds(run, 0)

    assert len(found["compcor"]["columns"]) > 10
    assert {name: found[name] for name in found if name != "ica_aroma"} == {
        name: expected[name] for name in found if name != "ica_aroma"
    }


def test_what_is_unavailable_is_told_with_the_tables_own_name(tmp_path):
    path = copied(BARE, tmp_path)

    why = chosen_confounds(path, 0)["compcor"]["unavailable"]

    assert "json file sub-01_task-rest_desc-confounds_regressors.json" in why
