"""The centre, seen from outside: it ends when it is stopped."""

import signal
import socket
import subprocess
import sys
from dataclasses import replace

from notears_pfl.federated.kits import operator_name, provision
from notears_pfl.federated.simulation import simulated_federation

LOG_IN = """
import sys
from pathlib import Path
from notears_pfl.federated.centre import log_in
log_in(sys.argv[1], Path(sys.argv[2]))
"""


def test_a_centre_that_is_stopped_while_it_logs_in_ends(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        agreed = simulated_federation(["A", "B"], ["G"], ["R0", "R1"], "subject", {})
        agreed = replace(agreed, host="localhost", port=silent.getsockname()[1])
        provision(agreed, tmp_path / "kits")
        kit = tmp_path / "kits/centre/operator"
        command = [sys.executable, "-c", LOG_IN, operator_name(agreed), str(kit)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as centre:
            silent.settimeout(60)
            connection, _ = silent.accept()
            centre.send_signal(signal.SIGINT)
            try:
                _, said = centre.communicate(timeout=30)
            finally:
                centre.kill()
                connection.close()

    assert said.strip().endswith("KeyboardInterrupt")
