"""A file of settings means what it says, or is refused with its line."""

import os

import pytest

from notears_pfl.errors import ConfigError
from notears_pfl.io.settings import read_settings


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "study.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def bomb(levels):
    """Nine references to nine references to …: a few lines, nine to the power of their number."""
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("seed: 1\ngroups: {}\nseed: 2\n", r"key 'seed' appears twice in lines 1 and 3"),
        ("a:\n  b: 1\n  'b': 2\n", r"key 'b' appears twice in lines 2 and 3"),
        ("a: [{b: 1, b: 2}]\n", r"key 'b' appears twice in lines 1 and 1"),
        ('{"seed": 1, "seed": 2}', r"key 'seed' appears twice in one object"),
        ("seed: 1\n---\nseed: 2\n", r"line 2: a second document"),
        ("seed: !!python/name:os.system x\n", r"line 1: settings have no tag '.*os.system'"),
        ("seed: !!set {a, b}\n", r"line 1: settings have no tag"),
        ("a: " + "[" * 60 + "]" * 60, r"line 1: settings may have at most 40 levels"),
        ("a: " + "[" * 50_000 + "]" * 50_000, r"at most 40 levels|cannot be read as YAML"),
        (bomb(9), r"line 6: .* at most 100000 values, references"),
        (
            "\n".join(f"l{i}: &l{i} [*l{i - 1}]" for i in range(1, 60)),
            r"cannot be read|at most 40 levels",
        ),
        ("a: &a [*a]\n", r"line 1: \*a refers to itself"),
        ("a: 1\nyes: 2\n", r"line 2: YAML reads the key 'yes' as bool. Put it in quotes"),
        ("010: 2\n", r"line 1: YAML reads the key '010' as int"),
        ("? [a, b]\n: 1\n", r"line 1: a key must be one word"),
        ("a: 2001-99-99\n", r"cannot be read as YAML \(month must be"),
        ("a: " + "9" * 5000, r"cannot be read as YAML \(Exceeds the limit"),
        ("a:\n\t- 1\n", r"cannot be read as YAML \(line 2: a tab, where YAML needs blanks\)"),
        ("a: na\xefve\n".encode("latin-1"), r"line 1: byte 0xE[9F] is not UTF-8"),
        ("a: 1\n".encode("utf-16"), r"it is in UTF-16"),
        ("a: 1\nb: \0\n", r"line 2: there is a zero byte"),
    ],
)
def test_what_would_not_mean_what_it_says_is_refused(file, content, reason):
    path = file(content)

    with pytest.raises(ConfigError, match=reason) as caught:
        read_settings(path)

    assert str(caught.value).startswith(str(path))


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    names = {
        "nowhere.yaml": "no such file",
        ".": "it is a folder",
        "loop.yaml": "Too many levels of symbolic links",
        "pipe.yaml": "it is a pipe or a device",
        "x" * 300: "File name too long",
        "a\0b": "its path is not valid",
    }

    for name, reason in names.items():
        with pytest.raises(ConfigError, match=reason):
            read_settings(f"{tmp_path}/{name}")


def test_sound_settings_are_read(file):
    text = "\ufeffgroups: &g {1: MDD, '01': HC, 2.5: x}\nagain: *g\nmore: {<<: *g, z: !!str 1}\n"

    content = read_settings(file(text))

    assert content["groups"] == content["again"] == {1: "MDD", "01": "HC", 2.5: "x"}
    assert content["more"] == {1: "MDD", "01": "HC", 2.5: "x", "z": "1"}
    assert read_settings(file('{"a":\t{"b": [1]}}')) == {"a": {"b": [1]}}
