"""A rule writes its own log and its own costs, and nobody else's."""

import re

from .conftest import workflow_rules


def of_every_rule(keyword):
    """Collect what each rule gives for a keyword; rules without a log only ask for files."""
    found = {}
    for name, body in workflow_rules():
        if re.search(r"^ +(script|log):", body, re.MULTILINE):
            given = re.search(rf'^ +{keyword}:\n +"([^"]+)"', body, re.MULTILINE)
            found[name] = given[1] if given else None
    return found


def test_no_two_rules_share_a_log_or_a_table_of_costs():
    logs, benchmarks = of_every_rule("log"), of_every_rule("benchmark")

    assert len(logs) > 40
    assert {"anatomical", "federated_degree"} <= set(logs)
    for name, log in logs.items():
        assert re.fullmatch(rf"logs/{name}(/[^/]+)?\.log", log), name
        assert benchmarks[name] == log.replace(".log", ".benchmark.tsv"), name
