"""The centre on NVFLARE: carries the fit's bundles to the sites, and says how it ended."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from nvflare.apis.client import Client
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from notears_pfl.errors import FederatedError, PflError
from notears_pfl.federated.courier import SilentError
from notears_pfl.federated.executor import TOPIC
from notears_pfl.federated.study import Federation, fit_study, write_status


class CentreController(Controller):
    """Runs the fit at the centre.

    Bundles travel as direct messages, one round trip each, instead of as tasks that sites poll
    for. A site is addressed by the name with which NVFLARE registered its certificate.

    Parameters
    ----------
    federation : mapping
        Fields of ``Federation``.
    sites : sequence of str
        Sites to fit with.
    folder : str
        Where results and the saved state go.
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
        """No tasks are sent, so that none has a result."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Fit the study; how it ended is left beside the result."""
        try:
            with ThreadPoolExecutor(len(self._sites)) as pool:

                def exchange(bundles: Mapping[str, bytes]) -> dict[str, bytes]:
                    _refuse_if(abort_signal)
                    return _exchange(bundles, pool, self._federation.answer_s, fl_ctx)

                fit_study(exchange, self._federation, self._sites, self._folder)
        except SilentError as error:
            write_status(self._folder, "silent", str(error), error.sites)
        except PflError as error:
            self.log_exception(fl_ctx, "the fit ended")
            write_status(self._folder, "failed", f"{type(error).__name__}: {error}")
        except Exception as error:
            write_status(self._folder, "failed", f"{type(error).__name__}: {error}")
            raise
        else:
            write_status(self._folder, "finished", "all groups are fitted.")


def _refuse_if(abort_signal: Signal) -> None:
    if abort_signal.triggered:
        msg = "the engine was told to stop; the state is saved."
        raise FederatedError(msg)


def _exchange(
    bundles: Mapping[str, bytes], pool: ThreadPoolExecutor, timeout_s: float, fl_ctx: FLContext
) -> dict[str, bytes]:
    """Send each site its bundle, all at once; sites that do not answer are left out."""
    engine = fl_ctx.get_engine()

    def ask(site: str) -> Shareable | None:
        request = Shareable()
        request["bundle"] = bundles[site]
        replies = engine.send_aux_request([site], TOPIC, request, timeout_s, fl_ctx, optional=True)
        return replies.get(site) if replies else None

    answers = {}
    for site, reply in zip(bundles, pool.map(ask, bundles), strict=True):
        if reply is not None and reply.get_return_code() == ReturnCode.OK:
            bundle = reply.get("bundle")
            if not isinstance(bundle, bytes):
                msg = f"site {site}: the answer is no message. The state is saved."
                raise FederatedError(msg)
            answers[site] = bundle
    return answers
