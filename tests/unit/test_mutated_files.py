"""Whatever a user's file has become, its reader reads it or says in words why not.

Sound studies, tables, sidecars and messages are damaged in thousands of ways, the same ones every
time, and read. No exception but ours may come out.
"""

import copy
import gzip
import json
import os
import random
import shutil
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.tiny_images import tiny_bold, tiny_image, tiny_t1w

from notears_pfl.errors import PflError
from notears_pfl.federated.federated_study import read_federation
from notears_pfl.federated.message_kinds import KINDS, check_answer, check_request
from notears_pfl.federated.messages import Message, decode, encode
from notears_pfl.federated.site_data import load_site
from notears_pfl.federated.site_rules import read_rules
from notears_pfl.io.series_files import read_series
from notears_pfl.io.settings import read_settings
from notears_pfl.io.sidecars import read_timing
from notears_pfl.io.tables import read_confounds, read_relmat, write_table
from notears_pfl.model.federation import Description
from notears_pfl.study.bids import enrol_datasets, find_normalised_scan, find_raw_scan
from notears_pfl.study.configuration import read_tables
from notears_pfl.study.headers import HeaderChecks
from notears_pfl.study.participants import sites_with_both_groups
from notears_pfl.study.srpbs import enrol_release
from notears_pfl.study.timeseries import checked_series, labelled_series, read_series_study

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "workflow/schemas"
SEED = 20230
# How many damaged copies each reader is given.
CASES = {
    "settings": 320,
    "settings_text": 250,
    "study_tables": 320,
    "participants": 350,
    "series": 350,
    "bids": 320,
    "fmriprep": 120,
    "srpbs": 250,
    "federation": 220,
    "site": 220,
    "samples": 150,
    "messages": 500,
    "relmat": 100,
}
VALUES = [
    None, True, False, 0, -1, 1.5, 10**30, -(10**400), float("nan"), float("inf"), "", " ", "nan",
    "x" * 300, "x" * 10_000, "a\nb", "COI\n", "=1+1", "é", "\0", "\ud800", [], {}, [[]], [1, "a"],
    {"a": 1}, {1: 2}, {None: 3}, "2001-01-01", "/", ".", "../..", "/dev/null", "{site}", "style",
]  # fmt: skip
CELLS = [
    "", " ", "n/a", "nan", "inf", "1e999", "-1", "0", "1_0", "9" * 400, "x" * 300, "true", "1",
    "é", "e\u0301", "=1+1", "'", '"', '"a', "a\rb", "COI ", "coi", "\u2028", "\ufeff", "sub-",
    "2,5",
]  # fmt: skip
SPECIAL = [b"\0", b"\xff", b"\t", b"\r", b"\n", b'"', b"'", b"\xef\xbb\xbf", b"\xc3", b"\x1a", b",",
           b"\t\t", b"{", b"]", b": ", b"&a ", b"*a ", b"- ", b"!!set ", b"%", b"\x85"]  # fmt: skip


class Unharmed(random.Random):
    """Leaves things as they are."""


def damaged_bytes(data, rng):
    """Change bytes, lines, cells or the encoding of a file's content."""
    if isinstance(rng, Unharmed):
        return data
    kind = rng.randrange(12)
    place = rng.randrange(len(data) + 1)
    if kind == 0 and data:
        place = rng.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if kind == 1:
        return data[:place]
    if kind == 2:
        return data[:place] + rng.choice(SPECIAL) + data[place:]
    if kind == 3:
        return data[:place] + data[place + rng.randrange(20) :]
    if kind in (4, 5):
        text = data.decode("utf-8", "replace")
        text = text if kind == 4 else text.replace("a", "é")
        codec = rng.choice(["latin-1", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp500"])
        return text.encode(codec, "replace")
    lines = data.splitlines(keepends=True) or [b""]
    line = rng.randrange(len(lines))
    if kind == 6:
        return b"".join(lines[:line] + lines[line + 1 :])
    if kind == 7:
        return b"".join([*lines[:line], lines[line], *lines[line:]])
    if kind == 8:
        rng.shuffle(lines)
        return b"".join(lines)
    if kind == 9:
        return rng.choice([b"\r", b"\r\n", b"\n\n"]).join(part.rstrip(b"\n") for part in lines)
    cells = lines[line].rstrip(b"\n").split(b"\t")
    cell = rng.randrange(len(cells))
    if kind == 10:
        cells[cell] = rng.choice(CELLS).encode()
        lines[line] = b"\t".join(cells) + b"\n"
        return b"".join(lines)
    return b"".join(with_column(row, cell, rng.choice("dsm")) for row in lines)


def with_column(line, column, how):
    """Drop, repeat or move a column of a line."""
    cells = line.rstrip(b"\n").split(b"\t")
    if column < len(cells):
        cell = cells.pop(column) if how in "dm" else cells[column]
        cells = [cell, *cells] if how in "sm" else cells
    return b"\t".join(cells) + b"\n"


def damage(path, rng):
    """Damage a file: mostly its content, now and then what it is."""
    if isinstance(rng, Unharmed):
        return
    kind = rng.randrange(24)
    data = path.read_bytes()
    if kind > 5:
        path.write_bytes(damaged_bytes(data, rng))
        return
    path.unlink()
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        path.symlink_to(path)
    elif kind == 2:
        os.mkfifo(path)
    elif kind == 3:
        path.write_bytes(b"")
    elif kind == 4:
        path.symlink_to("/dev/null")


def damaged_mapping(content, rng):
    """Replace, remove or add a value somewhere inside settings."""
    content = json.loads(json.dumps(content))
    if isinstance(rng, Unharmed):
        return content
    for _ in range(rng.choice([1, 1, 1, 3])):
        place, parents = content, []
        while isinstance(place, dict | list) and place and (not parents or rng.random() < 0.8):
            keys = list(place) if isinstance(place, dict) else range(len(place))
            parents.append((place, rng.choice(keys)))
            place = parents[-1][0][parents[-1][1]]
        if not parents:
            continue
        holder, key = parents[-1]
        kind = rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, dict):
            holder[rng.choice([1, None, True, 2.5, "x" * 300, "sit es", "\n"])] = holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return content


class Folder:
    """Sound files; those that were handed out are restored before the next case."""

    def __init__(self, path, files):
        self.path, self.files = path, files
        self._spoiled = list(files)

    def restore(self):
        """Write the files anew that may have been damaged."""
        for name in self._spoiled:
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            remove(file)
            file.write_bytes(self.files[name])
        self._spoiled = []

    def file(self, name):
        """Hand out a file to be damaged."""
        self._spoiled.append(name)
        return self.path / name

    def pick(self, rng, names=None):
        """Hand out one of the files."""
        return self.file(rng.choice(names or list(self.files)))


def remove(path):
    """Remove a file, whatever became of it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def survey(name, read, prepare):
    """Read ``CASES[name]`` damaged copies; count those that were refused, and those that were not.

    ``prepare`` damages something and gives the arguments of ``read``. Unharmed, all can be read.
    """
    read(*prepare(Unharmed(0)))
    refused = read_well = 0
    for case in range(CASES[name]):
        rng = random.Random(f"{SEED} {name} {case}")
        arguments = prepare(rng)
        try:
            read(*arguments)
        except PflError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"case {case} of {name} ended in {error!r}") from error
        else:
            read_well += 1
    print(f"{name}: {refused} of {CASES[name]} damaged copies were refused")
    assert refused + read_well == CASES[name]
    assert refused > CASES[name] / 5
    return read_well


def few_rois(n=4):
    table = pd.read_csv(ROOT / "config/rois.tsv", sep="\t", dtype=str).iloc[:n]
    return table.assign(selected="true").to_csv(sep="\t", index=False).encode()


@pytest.fixture
def config():
    content = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    content["rois"]["n_selected"] = 4
    content["phantom"]["network"] |= {
        "shared_edges": 1, "patients_edges": 1, "controls_edges": 1, "site_edges": 0,
    }  # fmt: skip
    return content


@pytest.fixture
def study(tmp_path, config):
    """Give the default study with four regions, in a folder of its own."""
    folder = Folder(
        tmp_path / "study",
        {"sites.tsv": (ROOT / "config/sites.tsv").read_bytes(), "rois.tsv": few_rois()},
    )
    config["sites"] = str(folder.path / "sites.tsv")
    config["rois"]["table"] = str(folder.path / "rois.tsv")
    folder.restore()
    return folder


def test_there_are_thousands_of_cases():
    assert sum(CASES.values()) >= 2000


def test_settings(study, config):
    def prepare(rng):
        return damaged_mapping(config, rng), SCHEMAS, "config.yaml"

    assert survey("settings", read_tables, prepare)


def test_the_text_of_settings(study, config, tmp_path):
    text = yaml.safe_dump(config, sort_keys=False).encode()

    def prepare(rng):
        file = tmp_path / "my study.yaml"
        remove(file)
        file.write_bytes(text)
        damage(file, rng)
        return (file,)

    def read(path):
        read_tables(read_settings(path), SCHEMAS, str(path))

    assert survey("settings_text", read, prepare)


def test_the_tables_of_a_study(study, config):
    def prepare(rng):
        study.restore()
        damage(study.pick(rng), rng)
        return config, SCHEMAS, "config.yaml"

    assert survey("study_tables", read_tables, prepare)


PEOPLE = "participant_id\tsite\tgroup\tage\tnote\n" + "".join(
    f"sub-{site}{group}{i}\t{site}\t{group}\t{30 + i}\tfine\n"
    for site in ("COI", "KUT")
    for group in ("MDD", "HC")
    for i in range(2)
)


def test_participants_of_ready_series(tmp_path):
    series = {name: np.ones((3, 2)) for name in PEOPLE.split() if name.startswith("sub-")}
    np.savez(tmp_path / "series.npz", **series)
    archive = (tmp_path / "series.npz").read_bytes()
    files = {"participants.tsv": PEOPLE.encode(), "series.npz": archive}
    folder = Folder(tmp_path / "data", files | {f"{name}.tsv": b"A\n1\n" for name in series})
    sound = {
        "participants": str(folder.path / "participants.tsv"), "on_problem": "exclude",
        "series": str(folder.path / "series.npz"), "site_column": "site", "group_column": "group",
    }  # fmt: skip

    def prepare(rng):
        folder.restore()
        damage(folder.pick(rng, ["participants.tsv", "participants.tsv", "series.npz"]), rng)
        pattern = rng.choice([sound["series"], str(folder.path / "{participant_id}.tsv")])
        return ({**sound, "series": pattern},)

    def read(source):
        found = read_series_study(source, ("MDD", "HC"))
        sites_with_both_groups(found.participants, ("MDD", "HC"), source["participants"])

    assert survey("participants", read, prepare)


def test_series(tmp_path, rng):
    values = rng.normal(size=(6, 3))
    frame = pd.DataFrame(values, columns=["A", "B", "C"])
    np.save(tmp_path / "s.npy", values)
    np.savez_compressed(tmp_path / "s.npz", s=values)
    files = {
        "s.tsv": frame.to_csv(sep="\t", index=False).encode(),
        "s.csv": frame.to_csv(index=False).encode(),
        "s.1D": frame.to_csv(sep=" ", index=False, header=False).encode(),
        "s.txt": frame.to_csv(sep=" ", index=False, header=False).encode(),
        "s.npy": (tmp_path / "s.npy").read_bytes(),
        "s.npz": (tmp_path / "s.npz").read_bytes(),
    }
    folder = Folder(tmp_path / "data", files)

    def prepare(rng):
        folder.restore()
        path = folder.pick(rng)
        damage(path, rng)
        return path, rng.choice(["s", "s", "s", "t"])

    def read(path, name):
        series = read_series(str(path), name)
        if isinstance(series, np.ndarray):
            series = labelled_series(series, ["A", "B", "C"], ["A", "B"])
        write_table(checked_series(series, ["A", "B"]), tmp_path / "written.tsv", index=False)

    assert survey("series", read, prepare)


BOLD, T1W = (gzip.compress(image.to_bytes()) for image in (tiny_bold(), tiny_t1w()))


def bids_files(suffix, sidecar):
    """Files of a dataset with a subject of each group at each site."""
    files = {"participants.tsv": PEOPLE.encode(), "task-rest_bold.json": b'{"TaskName": "rest"}'}
    for name in [word for word in PEOPLE.split() if word.startswith("sub-")]:
        run = f"{name}/func/{name}_task-rest{suffix}"
        files |= {f"{run}_bold.nii.gz": BOLD, f"{run}_bold.json": json.dumps(sidecar).encode()}
        files |= {f"{name}/anat/{name}_T1w.nii.gz": T1W}
        confounds = f"{name}/func/{name}_task-rest_desc-confounds_timeseries.tsv"
        files |= {confounds: b"trans_x\trot_x\n0.1\t0\nn/a\t1\n"}
    return files


def dataset_source(folder):
    return {
        "dataset": str(folder.path), "site_column": "site", "group_column": "group",
        "group_values": {}, "prefix_site": False, "on_problem": "stop", "bold": {"task": "rest"},
        "t1w": {}, "space": "MNI152NLin2009cAsym",
    }  # fmt: skip


def spoil_sidecar(folder, rng, sound):
    """Give a sidecar other values, or other bytes."""
    path = folder.pick(rng, [name for name in folder.files if name.endswith("bold.json")])
    if rng.random() < 0.5:
        spoiled = damaged_mapping(sound, rng)
        text = json.dumps({str(key): value for key, value in spoiled.items()}, default=str)
        path.write_text(text.replace('"RepetitionTime": 2.0', '"RepetitionTime": 2.0, "x": NaN'))
    else:
        damage(path, rng)


def test_a_raw_dataset(tmp_path):
    sidecar = {"RepetitionTime": 2.0, "SliceTiming": [0.0, 1.0], "SliceEncodingDirection": "k"}
    folder = Folder(tmp_path / "data", bids_files("", sidecar))

    def prepare(rng):
        folder.restore()
        kind = rng.random()
        if kind < 0.4:
            spoil_sidecar(folder, rng, sidecar)
        elif kind < 0.7:
            damage(folder.pick(rng, [name for name in folder.files if name[-3:] == ".gz"]), rng)
        else:
            damage(folder.file("participants.tsv"), rng)
        return ({**dataset_source(folder), "prefix_site": rng.random() < 0.2},)

    def read(source):
        enrolment = enrol_datasets(source, ("MDD", "HC"), HeaderChecks(10, True), find_raw_scan)
        for scan in chain.from_iterable(enrolment.scans.values()):
            read_timing(scan.sidecars)
        write_table(pd.DataFrame(enrolment.rows()), tmp_path / "written.tsv", index=False)

    assert survey("bids", read, prepare)


def test_fmriprep(tmp_path):
    sidecar = {"RepetitionTime": 2.0}
    files = bids_files("_space-MNI152NLin2009cAsym_desc-preproc", sidecar)
    folder = Folder(tmp_path / "data", files)

    def prepare(rng):
        folder.restore()
        if rng.random() < 0.4:
            spoil_sidecar(folder, rng, sidecar)
        else:
            damage(folder.pick(rng, [name for name in files if name.endswith(".tsv")]), rng)
        return (dataset_source(folder),)

    def read(source):
        checks = HeaderChecks(10, needs_slice_times=False)
        enrolment = enrol_datasets(source, ("MDD", "HC"), checks, find_normalised_scan)
        for scan in chain.from_iterable(enrolment.scans.values()):
            read_timing(scan.sidecars, slices=False)
            read_confounds(scan.confounds, ["trans_x", "rot_x"])

    assert survey("fmriprep", read, prepare)


def test_the_srpbs_release(tmp_path, study, config):
    sites = read_tables(config, SCHEMAS, "config.yaml").sites
    rows = PEOPLE.replace("age\tnote", "sex\tprotocol").splitlines()
    table = [rows[0]] + [row.rsplit("\t", 2)[0] + "\t1\t3" for row in rows[1:]]
    files = {
        "participants.tsv": "\n".join(table).encode(),
        "MRI_protocols_rsMRI.tsv": b"Release\nProtocol #\t3\t4\nTR (s)\t2,500\t2.0\nTE (ms)\t30\n",
    }
    volume = tiny_image((4, 4, 4), 4.0).to_bytes()
    for name in [word for word in PEOPLE.split() if word.startswith("sub-")]:
        files |= {f"data/{name}/t1/defaced_mprage.nii": gzip.decompress(T1W)}
        files |= {f"data/{name}/rsfmri/vol_{i}": volume for i in range(1, 14)}
    folder = Folder(tmp_path / "release", files)

    def prepare(rng):
        folder.restore()
        image = f"data/sub-COIMDD0/{rng.choice(['rsfmri/vol_1', 't1/defaced_mprage.nii'])}"
        damage(folder.pick(rng, ["participants.tsv", "MRI_protocols_rsMRI.tsv", image]), rng)
        source = {**dataset_source(folder), "on_problem": rng.choice(["stop", "exclude"])}
        return source, sites, "sites.tsv", ("MDD", "HC"), HeaderChecks(10, True)

    assert survey("srpbs", enrol_release, prepare)


FEDERATION = {
    "name": "study", "centre": {"host": "centre.org", "port": 8002}, "sites": ["COI", "KUT", "UTO"],
    "groups": ["MDD", "HC"], "rois": "rois.tsv", "scale": "subject",
    "estimator": {"penalty": "edgewise", "lambda1": "auto", "lambda2": 0.1, "max_rounds": 10},
    "waiting": {"answer_s": 1.0, "patience_s": 0, "without": "stop", "minimum_sites": 2},
}  # fmt: skip
SITE = {
    "centre": "centre.org", "participants": "cohort.tsv", "series": "{participant_id}.tsv",
    "records": "records",
    "allow": {
        "groups": ["MDD"], "rois": "rois.tsv", "scales": ["subject"], "minimum_subjects": 2,
        "lambda": [0, 1], "kappa": [0, 4], "rho": [0.01, 10], "messages": list(KINDS),
    },
}  # fmt: skip


def prepare_settings(folder, name, content):
    """Damage a file of settings as a mapping or as text, or the table of ROIs beside it."""

    def prepare(rng):
        folder.restore()
        kind = rng.randrange(3)
        if kind == 0:
            spoiled = damaged_mapping(content, rng)
            text = yaml.safe_dump(spoiled, sort_keys=False)
            folder.file(name).write_bytes(text.encode("utf-8", "surrogatepass"))
        else:
            damage(folder.file(name if kind == 1 else "rois.tsv"), rng)
        return (folder.path / name,)

    return prepare


def settings_folder(path, name, content):
    text = yaml.safe_dump(content, sort_keys=False).encode()
    return Folder(path / "data", {name: text, "rois.tsv": few_rois()})


def test_a_federation(tmp_path):
    folder = settings_folder(tmp_path, "federation.yaml", FEDERATION)

    prepare = prepare_settings(folder, "federation.yaml", FEDERATION)

    assert survey("federation", read_federation, prepare)


def test_a_site(tmp_path):
    folder = settings_folder(tmp_path, "site.yaml", SITE)

    assert survey("site", read_rules, prepare_settings(folder, "site.yaml", SITE))


def test_the_samples_of_a_site(tmp_path, rng):
    rois = pd.read_csv(ROOT / "config/rois.tsv", sep="\t")["abbreviation"][:4].tolist()
    series = {
        f"sub-{i}.tsv": pd.DataFrame(rng.normal(size=(20, 4)), columns=rois)
        .to_csv(sep="\t", index=False)
        .encode()
        for i in range(3)
    }
    cohort = "participant_id\tsite\tgroup\tsplit\n" + "".join(
        f"sub-{i}\tCOI\tMDD\tdiscovery\n" for i in range(3)
    )
    text = yaml.safe_dump(SITE).encode()
    files = {"site.yaml": text, "rois.tsv": few_rois(), "cohort.tsv": cohort.encode(), **series}
    folder = Folder(tmp_path / "data", files)
    plan = {"group": "MDD", "rois": rois, "scale": "subject", "estimator": {}}

    def prepare(rng):
        folder.restore()
        shutil.rmtree(folder.path / "records", ignore_errors=True)
        rules = read_rules(folder.path / "site.yaml")
        damage(folder.pick(rng, ["cohort.tsv", *series]), rng)
        return rules, "COI", plan

    assert survey("samples", load_site, prepare)


def test_messages(rng):
    W = rng.normal(size=(3, 3))
    sound = [
        Message("plan", 1, 1, ({"group": "G", "rois": ["A"], "scale": "roi", "estimator": {}},)),
        Message("begin", 3, 2, (np.ones(3), np.arange(3), None)),
        Message("step", 4, 2, (W, 0.5)),
        Message("answer", 2, 1, (Description(np.ones(3), 9, True),)),
    ]

    def prepare(rng):
        bundle = b"".join(map(encode, rng.sample(sound, rng.choice([1, 2]))))
        for _ in range(rng.choice([1, 2, 5])):
            bundle = damaged_bytes(bundle, rng)
        return (bundle,)

    def read(bundle):
        for message, _ in decode(bundle):
            assert isinstance(message.shape, str)
            if message.kind == "answer":
                check_answer("describe", *message.values[:1], 3)
            else:
                check_request(message.kind, message.values, 3)

    assert survey("messages", read, prepare)


def test_networks(tmp_path, rng):
    labels = ["INS.R", "ACG.R", "'=x"]
    network = pd.DataFrame(rng.normal(size=(3, 3)), index=labels, columns=labels)
    write_table(network, tmp_path / "relmat.tsv")
    folder = Folder(tmp_path / "data", {"relmat.tsv": (tmp_path / "relmat.tsv").read_bytes()})

    def prepare(rng):
        folder.restore()
        damage(folder.file("relmat.tsv"), rng)
        return (folder.path / "relmat.tsv",)

    assert survey("relmat", read_relmat, prepare)
