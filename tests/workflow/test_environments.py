"""The conda environments have the lock's versions and everything that their scripts import."""

import ast
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from notears_pfl.io.fingerprint import code_behind

ROOT = Path(__file__).parents[2]
# Packages that the environments name otherwise than their installed selves.
CONDA_NAMES = {"matplotlib": "matplotlib-base", "picsl_greedy": "picsl-greedy"}
DIST_NAMES = {conda: name for name, conda in CONDA_NAMES.items()}
ENVIRONMENTS = sorted(path.name for path in (ROOT / "envs").glob("*.yaml"))
RULE = re.compile(r"^rule (\w+):(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def locked_versions():
    text = (ROOT / "requirements.lock").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", text, re.MULTILINE))


def provided(environment):
    """Version of each package of an environment, by its conda name."""
    content = yaml.safe_load((ROOT / "envs" / environment).read_text())
    assert "conda-forge" in content["channels"]
    flat = []
    for entry in content["dependencies"]:
        flat += entry["pip"] if isinstance(entry, dict) else [entry]
    return dict(re.match(r"([\w.-]+)\s*=*\s*(\S*)", entry).groups() for entry in flat)


def rules():
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for name, body in RULE.findall(path.read_text()):
            script = re.search(r'script:\s+"\.\./\.\./(scripts/[\w.]+)"', body)
            environment = re.search(r'conda:\s+"\.\./\.\./envs/([\w.]+)"', body)
            # A rule without a script is a target: it only asks for files.
            if script:
                yield pytest.param(script[1], environment[1], id=name)


def third_party_imports(script):
    """Top-level modules from elsewhere that a script and the code behind it import."""
    found = set()
    for path in code_behind(ROOT / script, ROOT / "src"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"notears_pfl", "snakemake"}


@pytest.mark.parametrize(("script", "environment"), list(rules()))
def test_an_environment_provides_what_its_script_imports(script, environment):
    distributions = packages_distributions()
    # A single extension module, such as greedy's, is not listed and has its package's name.
    needed = {
        distributions.get(module, [module])[0].lower() for module in third_party_imports(script)
    }

    assert {CONDA_NAMES.get(name, name) for name in needed} <= set(provided(environment))


def with_dependencies(names):
    """List the packages that come along when ``names`` are installed, themselves included."""
    reached, waiting = set(), {canonicalize_name(name) for name in names}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        try:
            needed = [Requirement(line) for line in requires(name) or []]
        except PackageNotFoundError:
            continue
        wanted = {r.name for r in needed if not r.marker or r.marker.evaluate({"extra": ""})}
        waiting |= {canonicalize_name(name) for name in wanted} - reached
    return reached


# Imports what stands on its input, in a Python that has forgotten all but some packages.
IMPORT = """
import sys

hidden = set(sys.argv[1].split(","))


class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"the environment lacks {name}")


sys.meta_path.insert(0, Hide())
exec(sys.stdin.read())
"""


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_scripts_of_an_environment_import_with_nothing_else_installed(environment):
    names = {DIST_NAMES.get(name, name) for name in provided(environment)}
    present = with_dependencies(names)
    hidden = [
        module
        for module, owners in packages_distributions().items()
        if not present & {canonicalize_name(owner) for owner in owners}
    ]
    scripts = [case.values[0] for case in rules() if case.values[1] == environment]
    nodes = [n for s in scripts for n in ast.parse((ROOT / s).read_text()).body]
    imports = [ast.unparse(n) for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]

    done = subprocess.run(
        [sys.executable, "-c", IMPORT, ",".join(set(hidden) - {"notears_pfl"})],
        input="\n".join(imports), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert scripts
    assert len(hidden) > 50
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_has_the_versions_of_the_lock(environment):
    locked = {CONDA_NAMES.get(name, name): v for name, v in locked_versions().items()}

    for name, version in provided(environment).items():
        if name not in ("python", "pip"):
            assert locked[name] == version, name


def test_the_lock_has_hashes_and_no_address():
    text = (ROOT / "requirements.lock").read_text()

    assert "://" not in text
    assert text.count("--hash=sha256:") > len(locked_versions()) > 50
