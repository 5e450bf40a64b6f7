"""Start-up kits: folders with certificates and settings for the centre and every site.

kits/centre/server     the centre's server, its key and certificate
kits/centre/operator   the identity that starts fits
kits/sites/S           one per hospital: hand it over through a secure channel and keep no copy
kits/authority         the private key that signs certificates: keep it locked away

Only their owner can read the files, and the authority keeps no private key of any kit.
"""

import datetime
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID
from nvflare.lighter.constants import CtxKey
from nvflare.lighter.impl.cert import CertBuilder
from nvflare.lighter.impl.signature import SignatureBuilder
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provision import prepare_project
from nvflare.lighter.provisioner import Provisioner

from notears_pfl.errors import FederatedError
from notears_pfl.federated.federated_study import Federation
from notears_pfl.io.sidecars import write_json

ORGANISATION = "notears_pfl"
# Full names, so that editing these modules reruns the rule that loads them by name.
CLASSES = {
    "centre": "notears_pfl.federated.controller.CentreController",
    "site": "notears_pfl.federated.executor.SiteExecutor",
}
# The operator may start, stop and view fits at a site, but send no code and run no commands.
PERMISSIONS = {
    "submit_job": "any",
    "manage_job": "any",
    "view": "any",
    "clone_job": "none",
    "download_job": "none",
    "operate": "none",
    "shell_commands": "none",
    "byoc": "none",
    "server-predeployed-flwr": "none",
}
HEARTBEAT_TIMEOUT_S = 30
WARN_BEFORE = datetime.timedelta(days=30)


def operator_name(federation: Federation) -> str:
    """Name of the identity that starts fits."""
    return f"operator@{federation.name.replace('_', '-')}.org"


def provision(federation: Federation, out: Path) -> None:
    """Create the start-up kits of a federation in a new folder."""
    if out.exists():
        msg = (
            f"{out}: exists already, and new kits do not work together with old ones. Choose a new "
            "folder."
        )
        raise FederatedError(msg)
    participants: list[dict[str, Any]] = [
        {"name": federation.host, "type": "server", "fed_learn_port": federation.port},
        {"name": operator_name(federation), "type": "admin", "role": "project_admin"},
        *({"name": site, "type": "client"} for site in federation.sites),
    ]
    project = prepare_project(
        {
            "api_version": 3,
            "name": federation.name,
            "description": "",
            "participants": [{**who, "org": ORGANISATION} for who in participants],
        }
    )
    builders = [
        WorkspaceBuilder(template_file=["master_template.yml"]),
        StaticFileBuilder(config_folder="config", scheme="grpc", require_signed_jobs=True),
        CertBuilder(),
        SignatureBuilder(),
    ]
    with tempfile.TemporaryDirectory() as folder:
        context = Provisioner(folder, builders).provision(project)
        if context.get(CtxKey.BUILD_ERROR):
            msg = "the start-up kits could not be created; see NVFLARE's output above."
            raise FederatedError(msg)
        made = Path(folder) / federation.name
        _remove_private_keys(made / "state/cert.json")
        places = {
            made / "prod_00" / federation.host: "centre/server",
            made / "prod_00" / operator_name(federation): "centre/operator",
            made / "state": "authority",
            **{made / "prod_00" / site: f"sites/{site}" for site in federation.sites},
        }
        out.mkdir(mode=0o700, parents=True)
        for source, place in places.items():
            shutil.copytree(source, out / place)
    _restrict(out / "centre/server", "centre")
    for site in federation.sites:
        _restrict(out / "sites" / site, "site")
    for script in out.rglob("*.sh"):
        # NVFLARE's own scripts would start a site without the gate.
        script.unlink()
    for path in out.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)


def _remove_private_keys(path: Path) -> None:
    """Remove the kits' private keys from the authority's files; it does not need them."""
    state = json.loads(path.read_text())
    for kept in state.values():
        if isinstance(kept, dict):
            kept.pop("pri_key", None)
    write_json(state, path)


def _restrict(kit: Path, role: str) -> None:
    """Allow a kit to run only our class; at a site, also disable log streaming and commands."""
    local = kit / "local"
    resources = json.loads((local / "resources.json.default").read_text())
    resources["class_allow_list"] = [CLASSES[role]]
    if role == "centre":
        resources["servers"][0]["heart_beat_timeout"] = HEARTBEAT_TIMEOUT_S
    else:
        resources["allow_log_streaming"] = False
        resources["components"] = [
            component
            for component in resources["components"]
            if component["id"] != "site_log_streamer"
        ]
        authorization = {"format_version": "1.0", "permissions": {"project_admin": PERMISSIONS}}
        write_json(authorization, local / "authorization.json")
    write_json(resources, local / "resources.json")


def set_server_paths(kit: Path) -> None:
    """Make the server store its files in its kit's folder, wherever that has been moved."""
    path = kit / "local/resources.json"
    resources, home = json.loads(path.read_text()), kit.resolve()
    storage = resources["snapshot_persistor"]["args"]["storage"]
    storage["args"]["root_dir"] = str(home / "snapshots")
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(home / "jobs")
    write_json(resources, path)


def certified_name(kit: Path, certificate: str) -> str:
    """Name in a kit's certificate, by which the others know its holder."""
    subject = _certificate(kit / "startup" / certificate).subject
    return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def _certificate(path: Path) -> x509.Certificate:
    if not path.is_file():
        msg = f"{path}: no such certificate. Give the folder of a start-up kit."
        raise FederatedError(msg)
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError as error:
        msg = f"{path}: cannot be read as a certificate ({error}). Ask for a new copy of the kit."
        raise FederatedError(msg) from error


def refuse_expired(kit: Path, certificate: str) -> str | None:
    """Refuse an expired kit; return a warning if it expires soon.

    The authority's certificate expires with the kits', and without it no connection is possible.
    """
    paths = [kit / "startup" / name for name in (certificate, "rootCA.pem")]
    end = min(_certificate(path).not_valid_after_utc for path in paths)
    left, day = end - datetime.datetime.now(datetime.UTC), f"{end:%Y-%m-%d}"
    who = certified_name(kit, certificate)
    remedy = "Provision new kits in a new folder and hand them out (docs/federated.md)."
    if left <= datetime.timedelta():
        msg = f"{kit}: the kit of {who} expired on {day} and can no longer connect. {remedy}"
        raise FederatedError(msg)
    if left <= WARN_BEFORE:
        return f"{kit}: the kit of {who} expires on {day}, in {left.days} days. {remedy}"
    return None


def centre_of(kit: Path) -> str:
    """Name of the centre that a site's kit connects to."""
    path = kit / "startup/fed_client.json"
    try:
        return str(json.loads(path.read_text())["servers"][0]["identity"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        msg = f"{path}: does not name the centre ({error}). Ask for a new copy of the kit."
        raise FederatedError(msg) from error
