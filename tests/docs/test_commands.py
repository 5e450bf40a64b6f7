"""Every command and settings file in the documentation is one that works."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

import pytest
import yaml
from snakemake.cli import parse_args

from notears_pfl import cli
from notears_pfl.errors import PflError
from notears_pfl.io.schema import check_config, read_schema

from .conftest import PAGES, ROOT, blocks, code_spans

# Programs of the system and of the environment.
KNOWN = {
    "$EDITOR", "cd", "git", "grep", "ls", "make", "notears-pfl", "pip", "pre-commit", "python",
    "snakemake", "source", "squeue", "tmux",
}  # fmt: skip
SETTINGS = read_schema(ROOT / "workflow/schemas/config.schema.yaml")
FEDERATED = ROOT / "src/notears_pfl/federated"


def commands():
    """List the commands on all pages, from blocks and from the text.

    A block without any known program is what a program prints.
    """
    found = []
    for block in blocks(""):
        lines = [re.split(r"(?:^|\s)# ", line)[0] for line in block.text.splitlines()]
        parts = [part.strip() for line in lines for part in line.split("&&") if part.strip()]
        if any(part.split()[0] in KNOWN for part in parts):
            found += [(block.page, part) for part in parts]
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        spans = code_spans(page, r"(snakemake|make|notears-pfl|python) [a-z-]")
        found += [(name, span) for span in spans]
    return sorted(set(found))


COMMANDS = commands()


def of_program(program):
    return [c for c in COMMANDS if c[1].split()[0] == program]


def snakemake_options(command):
    """Read a command as Snakemake does."""
    with contextlib.redirect_stderr(io.StringIO()):
        return parse_args(shlex.split(command)[1:])[1]


def test_all_commands_are_of_known_programs():
    assert {command.split()[0] for _, command in COMMANDS} <= KNOWN


@pytest.mark.parametrize(("page", "command"), of_program("make"))
def test_make_has_the_target(page, command):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    names = re.findall(r"^([a-z]+):", makefile, re.MULTILINE)

    asked = [word for word in command.split()[1:] if "=" not in word]

    assert asked
    assert set(asked) <= set(names)


@pytest.mark.parametrize(("page", "command"), of_program("notears-pfl"))
def test_the_command_line_knows_the_subcommand(page, command, capsys):
    words = [word for word in command.split()[1:] if re.fullmatch("[a-z]+", word)]

    with pytest.raises(SystemExit) as ended:
        cli.main([*words[:2], "--help"])

    assert ended.value.code == 0
    assert f"notears-pfl {words[0]}" in capsys.readouterr().out


@pytest.mark.parametrize(("page", "command"), of_program("python"))
def test_the_script_is_there(page, command):
    assert (ROOT / command.split()[1]).is_file()


@pytest.mark.parametrize(("page", "command"), of_program("snakemake"))
def test_snakemake_understands_the_options(page, command, monkeypatch):
    monkeypatch.chdir(ROOT)

    options = snakemake_options(command)

    # A target after --configfile without -- would be taken for a file of settings.
    assert all(str(path).endswith(".yaml") for path in options.configfile or [])


def test_snakemake_has_the_targets(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    targets = {
        t for _, command in of_program("snakemake") for t in snakemake_options(command).targets
    }
    shutil.copytree(ROOT / "config", tmp_path / "config")

    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--directory",
         tmp_path, "--dry-run", "--quiet", "all", "--", *targets],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert {"preprocessing", "simulation", "comparison", "federated_simulation"} <= targets
    assert done.returncode == 0, done.stderr


def merged(default, own):
    """Default settings with the user's, as Snakemake merges them."""
    if not (isinstance(default, Mapping) and isinstance(own, Mapping)):
        return own
    return {**default, **{key: merged(default.get(key), value) for key, value in own.items()}}


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: f"{block.page}:{block.line}")
def test_settings_follow_the_schema(block):
    own = yaml.safe_load(block.text)
    if "waiting" in own:
        check_config(own, read_schema(FEDERATED / "federation.schema.yaml"), block.page)
    elif "allow" in own:
        check_config(own, read_schema(FEDERATED / "site.schema.yaml"), block.page)
    else:
        default = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
        check_config(merged(default, own), SETTINGS, block.page)


def test_a_wrong_setting_in_a_block_would_be_noticed():
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))

    with pytest.raises(PflError, match=r"unknown key 'datasets'.*Did you mean 'dataset'"):
        check_config(merged(default, {"source": {"datasets": "x"}}), SETTINGS, "a page")
