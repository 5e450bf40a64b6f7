"""Environments and constraints: the lock's versions, and all that scripts and the extra need."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from notears_pfl.io.fingerprint import code_behind

from ..conda.channel import CONDA_NAMES, with_dependencies
from ..conda.stand_in import read_environment
from .conftest import ROOT, workflow_rules

# Packages that the environments name otherwise than their installed selves, or modules.
OTHER_NAMES = {**CONDA_NAMES, "picsl_greedy": "picsl-greedy"}
DIST_NAMES = {conda: name for name, conda in OTHER_NAMES.items()}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ENVIRONMENTS = sorted(path.name for path in (ROOT / "envs").glob("*.yaml"))


def versions(file):
    """Version of each package that a file of requirements pins."""
    text = (ROOT / file).read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;\\\n]+)", text, re.MULTILINE))


def asked_for(environment):
    return read_environment(ROOT / "envs" / environment)


def provided(environment):
    """Names of the packages that an environment asks for."""
    asked = asked_for(environment)
    return {re.match(r"[\w.-]+", line)[0] for line in asked.packages + asked.by_pip}


def rules():
    for name, body in workflow_rules():
        script = re.search(r'script:\s+"\.\./\.\./(scripts/[\w.]+)"', body)
        environment = re.search(r'conda:\s+"\.\./\.\./envs/([\w.]+)"', body)
        # A rule without a script is a target, or takes it from the rule that it uses.
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

    assert {OTHER_NAMES.get(name, name) for name in needed} <= provided(environment)


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
def test_an_environment_names_no_channel_but_conda_forge(environment):
    # From 26.7 on conda takes nodefaults, which was a switch, for a channel, and does not find it.
    assert asked_for(environment).channels == ["conda-forge"]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_pins_major_and_minor_versions_as_the_lock_has_them(environment):
    # Not the patch: conda-forge may not have it yet, and then there is no solution.
    lock = versions("requirements-dev.lock")
    locked = {CONDA_NAMES.get(name, name): v for name, v in lock.items()}
    packages = set(asked_for(environment).packages) - {"pip", "python =3.11"}

    pins = {
        name: ".".join(locked[name].split(".")[:2]) for name in provided(environment) & {*locked}
    }
    assert packages
    for line in packages:
        name, version = line.split(" =")
        assert version == pins[name], line


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_what_pip_adds_to_an_environment_is_pinned_exactly(environment):
    locked = versions("requirements-dev.lock")

    for line in asked_for(environment).by_pip:
        name, version = line.split("==")
        assert version == locked[name], line


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_has_hashes_and_no_address(lock):
    text = (ROOT / lock).read_text()

    assert "://" not in text
    assert text.count("--hash=sha256:") > len(versions(lock)) > 50


def test_a_run_installs_what_its_environments_ask_for_in_the_versions_of_development():
    run, development = versions("requirements.lock"), versions("requirements-dev.lock")
    needed = {
        DIST_NAMES.get(name, name).replace("_", "-")
        for environment in {*ENVIRONMENTS} - {"federated.yaml"}
        for name in provided(environment)
    }

    assert run.items() <= development.items(), "run make lock"
    assert needed - {"python", "pip"} <= run.keys()
    assert {"snakemake", "flit-core"} <= run.keys()


def test_a_run_installs_nothing_of_development_or_of_the_federation():
    run = versions("requirements.lock")

    assert not {"cvxpy", "hypothesis", "mypy", "nvflare", "playwright", "pytest", "uv"} & {*run}
    assert len(run) < 110


def test_the_constraints_of_the_federated_extra_are_the_versions_of_the_lock():
    constrained = versions("constraints-federated.txt")

    assert "://" not in (ROOT / "constraints-federated.txt").read_text()
    assert constrained.items() <= versions("requirements-dev.lock").items(), "run make lock"


def test_the_constraints_name_all_that_the_federated_extra_installs():
    extra = {Requirement(line).name for line in [*PROJECT["dependencies"], *EXTRAS["federated"]]}

    installed = with_dependencies(extra)

    assert {"nvflare", "cryptography", "grpcio", "pandas"} <= installed
    assert installed <= versions("constraints-federated.txt").keys(), "run make lock"


def test_the_federated_extra_has_what_the_environment_of_its_rules_has():
    extra = {Requirement(line).name for line in [*PROJECT["dependencies"], *EXTRAS["federated"]]}

    assert provided("federated.yaml") - {"python", "pip"} == extra


@pytest.mark.parametrize("page", ["docs/federated.md", "docs/first_hour.md"])
def test_the_extra_is_installed_with_its_constraints(page):
    commands = re.findall(r"pip install .*\[federated\].*", (ROOT / page).read_text())

    assert commands
    assert all("-c constraints-federated.txt" in command for command in commands)
