"""The stages of the workflow: what the messages of its rules begin with."""

import re
from pathlib import Path

RULE = re.compile(
    r"^( *)(?:rule (?P<rule>\w+)|use rule (?P<base>\w+) as (?P<copy>\w+))(?: with)?:\n"
    r"(?P<body>.*?)(?=^(?!\1    )\s*\S|\Z)",
    re.MULTILINE | re.DOTALL,
)
MESSAGE = re.compile(r'message:\s+f?"([^:"]+):')
OTHER = "Other"


def stages_of_rules(folder: str | Path) -> dict[str, str]:
    """Stage of every rule of a folder of rules, in the order of the files and rules."""
    stages: dict[str, str] = {}
    for path in sorted(Path(folder).glob("*.smk")):
        for found in RULE.finditer(path.read_text(encoding="utf-8")):
            own = MESSAGE.search(found["body"])
            inherited = stages.get(found["base"] or "", OTHER)
            stages[found["rule"] or found["copy"]] = own[1] if own else inherited
    return stages
