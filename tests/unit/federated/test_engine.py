"""Every process that is started is also stopped."""

import signal
import subprocess
import sys

import psutil
import pytest

from notears_pfl.federated.engine import running

# Runs a process as the centre runs its server, and prints its ID.
PROGRAM = """
import signal, sys, time
from pathlib import Path
from notears_pfl.federated.engine import running

# The program that starts the tests may ignore signals, which child processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[1] == "nohup" else signal.SIG_DFL)
with running([sys.executable, "-c", "import time; time.sleep(60)"], {}, Path(sys.argv[2])) as child:
    print(child.pid, flush=True)
    # A signal just before a long sleep would only be heeded after it.
    for _ in range(600):
        time.sleep(0.1)
"""


@pytest.fixture
def started(tmp_path):
    """Start the program; return it and the process that it runs."""
    programs = []

    def start(how):
        command = [sys.executable, "-c", PROGRAM, how, tmp_path / "log"]
        # Its message about the interruption is not needed.
        program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        programs.append(program)
        return program, psutil.Process(int(program.stdout.readline()))

    yield start
    for program in programs:
        program.terminate()
        program.wait(30)
        program.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_command_that_is_stopped_leaves_no_process_behind(started, number):
    program, child = started("terminal")

    program.send_signal(number)

    program.wait(30)
    assert not child.is_running()


def test_a_command_under_nohup_outlives_its_terminal(started):
    program, child = started("nohup")

    program.send_signal(signal.SIGHUP)

    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(1)
    assert child.is_running()


def test_a_process_finds_our_package_if_it_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "of-the-user")
    program = "import sys, notears_pfl; print(notears_pfl.__version__, *sys.path)"

    # Without site-packages, as in a conda environment that does not install the package.
    with running([sys.executable, "-S", "-c", program], {}, tmp_path / "log") as process:
        assert process.wait(30) == 0, (tmp_path / "log").read_text()

    assert "of-the-user" in (tmp_path / "log").read_text()
