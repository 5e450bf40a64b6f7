"""The centre's NVFLARE controller: sends the fit's bundles to the sites and records its outcome."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nvflare.apis.client import Client
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.signal import Signal
from nvflare.fuel.f3.cellnet.core_cell import TargetMessage
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.message import Message

from notears_pfl.errors import FederatedError, PflError
from notears_pfl.federated.courier import RETRY_S, SilentError
from notears_pfl.federated.executor import SEAL, bundle_of
from notears_pfl.federated.federated_study import Federation, fit_study, write_status
from notears_pfl.federated.gate import CHANNEL, TOPIC
from notears_pfl.federated.seal import KEY, Seal

# For the first exchange: the sites' processes are still starting, and answers that they send before
# they have logged in are lost.
START_S, READY_S = 90.0, 1.0


class CentreController(Controller):
    """Runs the fit at the centre.

    Bundles are sent as direct messages, one round trip each, instead of as tasks that sites poll
    for. A site is addressed by the name under which NVFLARE registered its certificate.

    Parameters
    ----------
    federation : mapping
        Fields of ``Federation``.
    sites : sequence of str
        Sites to fit with.
    folder : str
        Folder for the results and the saved state.
    """

    def __init__(self, federation: Mapping[str, Any], sites: Sequence[str], folder: str) -> None:
        super().__init__()
        self._federation = Federation(**federation)
        self._sites, self._folder = list(sites), Path(folder)

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to prepare."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to clean up."""

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Any, fl_ctx: FLContext
    ) -> None:
        """Nothing to do: no tasks are sent."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Fit the study and write its outcome beside the results."""
        try:
            seal = _seal(fl_ctx)

            def exchange(
                bundles: Mapping[str, bytes], timeout_s: float = self._federation.answer_s
            ) -> dict[str, bytes]:
                _refuse_if(abort_signal)
                return _exchange(bundles, timeout_s, fl_ctx, seal)

            _wait_for(self._sites, exchange)
            fit_study(exchange, self._federation, self._sites, self._folder)
        except SilentError as error:
            write_status(self._folder, "silent", str(error), error.sites)
        except PflError as error:
            self.log_exception(fl_ctx, "the fit failed")
            write_status(self._folder, "failed", f"{type(error).__name__}: {error}")
        except Exception as error:
            write_status(self._folder, "failed", f"{type(error).__name__}: {error}")
            raise
        else:
            write_status(self._folder, "finished", "all groups are fitted.")


def _refuse_if(abort_signal: Signal) -> None:
    if abort_signal.triggered:
        msg = "NVFLARE was told to stop; the state is saved."
        raise FederatedError(msg)


def _wait_for(sites: Sequence[str], exchange: Callable[..., dict[str, bytes]]) -> None:
    """Send empty bundles, which request nothing, until every site has answered one."""
    deadline = time.monotonic() + START_S
    waiting = list(sites)
    while True:
        answered = exchange(dict.fromkeys(waiting, b""), READY_S)
        waiting = [site for site in waiting if site not in answered]
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise SilentError(waiting, START_S)
        time.sleep(RETRY_S)


def _seal(fl_ctx: FLContext) -> Seal | None:
    """Return the centre's seal; None in the simulator, which has no kits."""
    key = Path(fl_ctx.get_workspace().get_file_path_in_startup(KEY))
    return Seal(key.parent, fl_ctx.get_job_id()) if key.exists() else None


def _exchange(
    bundles: Mapping[str, bytes], timeout_s: float, fl_ctx: FLContext, seal: Seal | None
) -> dict[str, bytes]:
    """Send all sites their bundles at once; return the answers of those that replied.

    The core cell sends a bundle as one message. NVFLARE's ordinary cell would stream it, which
    takes ten times as long and leaves a thread per message running for a minute.
    """
    engine, job = fl_ctx.get_engine(), fl_ctx.get_job_id()
    clients = {site: engine.get_client_from_name(site) for site in bundles}
    places = {s: FQCN.join([client.get_fqcn(), job]) for s, client in clients.items() if client}
    headers = {SEAL: seal(bundles)} if seal else {}
    requests = {
        place: TargetMessage(place, CHANNEL, TOPIC, Message({**headers}, bundles[site]))
        for site, place in places.items()
    }
    cell = engine.get_cell().core_cell
    replies = cell.broadcast_multi_requests(requests, timeout_s, optional=True)
    return {
        site: bundle_of(reply)
        for site, place in places.items()
        if (reply := replies[place]).get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.OK
    }
