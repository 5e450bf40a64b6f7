"""Write a release in the layout of SRPBS, from a BIDS dataset or of tiny images."""

import gzip
import json

import nibabel as nib
import numpy as np
import pandas as pd
from tests.tiny_images import tiny_image, tiny_t1w, write_tiny_release

DIAGNOSES = {"HC": 0, "MDD": 2, "ASD": 1}
SEX = {"M": 1, "F": 2}
# Subjects of the paper's study by site, diagnosis and protocol.
PAPER = {
    ("COI", "MDD", 1): 70, ("COI", "HC", 1): 124,
    ("KUT", "MDD", 2): 16, ("KUT", "HC", 2): 159,
    ("UTO", "MDD", 3): 62, ("UTO", "HC", 3): 96,
    ("HKH", "MDD", 4): 33, ("HKH", "HC", 4): 29,
    ("HUH", "MDD", 5): 57, ("HUH", "HC", 5): 67,
}  # fmt: skip
# Repetition time in s, echo time in ms and flip angle of each protocol.
ACQUISITIONS = {
    1: (2.5, 30, 80), 2: (2.5, 30, 80), 3: (2.5, 30, 80), 4: (2.7, 31, 90), 5: (2.0, 27, 90),
}  # fmt: skip


def write_tables(root, participants, protocols):
    """Write both tables; ``protocols`` has TR in s, TE in ms and flip angle by number."""
    root.mkdir(parents=True, exist_ok=True)
    participants.to_csv(root / "participants.tsv", sep="\t", index=False)
    rows = [
        ["MRI protocols of resting-state scans", *[""] * len(protocols)],
        ["Protocol #", *map(str, protocols)],
        ["MRI Scanner", *["Siemens Verio"] * len(protocols)],
        ["TR (s)", *[f"{p[0]:.3f}".replace(".", ",") for p in protocols.values()]],
        ["TE (ms)", *[f"{p[1]:g}" for p in protocols.values()]],
        ["Flip angle (deg)", *[f"{p[2]:g}" for p in protocols.values()]],
    ]
    text = "\n".join("\t".join(row) for row in rows)
    (root / "MRI_protocols_rsMRI.tsv").write_text(text + "\n")


def release_from_bids(bids, root, protocol_of_site):
    """Take the images of a BIDS dataset apart into a release: bare volumes, plain T1w."""
    people = pd.read_csv(bids / "participants.tsv", sep="\t")
    protocols = {}
    for row in people.itertuples():
        source, target = bids / row.participant_id, root / "data" / row.participant_id
        for folder in ("t1", "rsfmri", "fmap"):
            (target / folder).mkdir(parents=True)
        packed = (source / f"anat/{row.participant_id}_T1w.nii.gz").read_bytes()
        (target / "t1/defaced_mprage.nii").write_bytes(gzip.decompress(packed))
        run = nib.load(source / f"func/{row.participant_id}_task-rest_bold.nii.gz")
        data = np.asanyarray(run.dataobj)
        for t in range(data.shape[3]):
            volume = nib.Nifti1Image(data[..., t], run.affine)
            # Numbers are not padded: as text, vol_10 comes before vol_2.
            (target / f"rsfmri/vol_{t + 1}").write_bytes(volume.to_bytes())
        sidecar = json.loads(
            (source / f"func/{row.participant_id}_task-rest_bold.json").read_text()
        )
        protocols[protocol_of_site[row.site]] = (
            sidecar["RepetitionTime"], 1000 * sidecar["EchoTime"], sidecar["FlipAngle"],
        )  # fmt: skip
    released = people.assign(
        diag=people["group"].map(DIAGNOSES),
        sex=people["sex"].map(SEX),
        hand=1,
        protocol=people["site"].map(protocol_of_site),
    ).drop(columns="group")
    write_tables(root, released, protocols)


def tiny_release(root, counts, protocols):
    """Write a release of tiny images; ``counts`` by (site, diagnosis, protocol)."""
    rows = [
        (site, DIAGNOSES[group], number)
        for (site, group, number), count in counts.items()
        for _ in range(count)
    ]
    people = pd.DataFrame(rows, columns=["site", "diag", "protocol"])
    people.insert(0, "participant_id", [f"sub-{i:04d}" for i in range(1, len(people) + 1)])
    t1w, volume = tiny_t1w().to_bytes(), tiny_image((4, 4, 4), 4.0).to_bytes()
    for name in people["participant_id"]:
        write_tiny_release(root / "data" / name, t1w, volume)
    write_tables(root, people.assign(sex=1, age=40, hand=1), protocols)
