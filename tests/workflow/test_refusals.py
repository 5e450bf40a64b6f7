"""A study that cannot be run is refused before any job starts, with file, value and remedy."""

from .conftest import with_series


def refusal(study, *arguments):
    done = study.snakemake("--cores", "1", *arguments)
    assert done.returncode != 0
    assert not (study.path / "results").exists()
    assert "Traceback" not in done.stderr
    return done.stderr


def test_an_unknown_key(study):
    study.edit_config(smoothing=6)

    assert "config/config.yaml: unknown key 'smoothing'. Known: seed, source" in refusal(study)


def test_a_negative_fwhm(study):
    study.edit_config(phantom__anatomy__deformation_fwhm_mm=-6)

    message = (
        "config.yaml: 'phantom.anatomy.deformation_fwhm_mm' is -6: -6 is less than the minimum"
    )
    assert message in refusal(study)


def test_a_site_without_a_protocol(study):
    study.edit_table("sites", lambda t: t.assign(repetition_time=["", *t["repetition_time"][1:]]))

    assert "config/sites.tsv row 1: 'repetition_time' is ''" in refusal(study)


def test_fewer_selected_regions_than_expected(study):
    study.edit_table("rois", lambda t: t.assign(selected=["false", *t["selected"][1:]]))

    message = refusal(study)
    assert "config/rois.tsv: 55 regions are selected, but rois.n_selected in" in message
    assert "config/config.yaml is 56." in message


def test_a_site_without_patients(study):
    study.edit_table("sites", lambda t: t.assign(phantom_patients=["6", "0", "6", "6", "6"]))

    message = "config/sites.tsv site KUT: phantom_patients is 0, but every site needs at least 2"
    assert message in refusal(study)


def test_the_message_names_the_file_of_a_users_own_settings(study):
    own = study.path / "config/my_study.yaml"
    own.write_text("seed: -1\n")

    message = refusal(study, "--configfile", str(own))

    assert "my_study.yaml" in message
    assert "config/config.yaml: 'seed' is -1" in message


def test_a_source_that_is_blank(study):
    own = study.path / "config/my_study.yaml"
    own.write_text("source:\n")

    assert "'source' is None: None is not of type 'object'" in refusal(
        study, "--configfile", str(own)
    )


def test_a_key_that_stands_twice_in_a_users_own_settings(study):
    own = study.path / "config/my_study.yaml"
    own.write_text("seed: 1\ncohort: {}\nseed: 2\n")

    message = refusal(study, "--configfile", str(own))

    assert "my_study.yaml: the key 'seed' appears twice in lines 1 and 3. Keep one." in message


def test_settings_that_are_not_in_utf8(study):
    file = study.path / "config/config.yaml"
    file.write_bytes(file.read_bytes() + b"# na\xefve\n")

    assert "config/config.yaml: cannot be read as YAML (line 2" in refusal(study)


def test_participants_that_are_a_folder(study):
    with_series(study)
    study.edit_config(source__participants="config")

    assert "config: cannot be read as a table (it is a folder" in refusal(study)


def test_a_participant_whose_name_is_too_long_for_a_file(study):
    with_series(study)
    table = study.path / "participants.tsv"
    table.write_text(table.read_text().replace("sub-PITTASD0", "sub-" + "x" * 300))

    assert "has 300 letters a to z and digits, but 1 to 128 are needed" in refusal(study)
