"""A rule writes its own log and its own costs, and nobody else's."""

import re

from .conftest import ROOT

RULE = re.compile(r"^(?:rule|use rule \w+ as) (\w+)(?::| with:)(.*?)(?=^\S|\Z)", re.M | re.S)


def of_every_rule(keyword):
    """Collect what each rule gives for a keyword; rules without a log only ask for files."""
    found = {}
    for path in [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]:
        for name, body in RULE.findall(path.read_text()):
            if re.search(r"^    (script|log):", body, re.M):
                given = re.search(rf'^    {keyword}:\n        "([^"]+)"', body, re.M)
                found[name] = given[1] if given else None
    return found


def test_no_two_rules_share_a_log_or_a_table_of_costs():
    logs, benchmarks = of_every_rule("log"), of_every_rule("benchmark")

    assert len(logs) > 40
    assert "federated_degree" in logs
    for name, log in logs.items():
        assert re.fullmatch(rf"logs/{name}(/[^/]+)?\.log", log), name
        assert benchmarks[name] == log.replace(".log", ".benchmark.tsv"), name
