"""Every rule has the stage that its message begins with, and a copy that of its original."""

from pathlib import Path

from notears_pfl.command.stages import OTHER, stages_of_rules

RULES = Path(__file__).parents[3] / "workflow/rules"


def test_a_stage_is_what_a_message_begins_with(tmp_path):
    (tmp_path / "a.smk").write_text(
        'rule first:\n    message:\n        "Cohort: who is in"\n\n\n'
        'if True:\n\n    rule second:\n        message:\n            f"Report: page of {site}"\n\n'
        'use rule first as third with:\n    input:\n        "x"\n\n\n'
        'use rule first as fourth with:\n    message:\n        "Networks: again"\n\n\n'
        'rule target:\n    input:\n        "y"\n'
    )

    assert stages_of_rules(tmp_path) == {
        "first": "Cohort",
        "second": "Report",
        "third": "Cohort",
        "fourth": "Networks",
        "target": OTHER,
    }


def test_every_rule_of_the_workflow_with_work_has_a_stage():
    stages = stages_of_rules(RULES)

    assert [rule for rule, stage in stages.items() if stage == OTHER] == ["phantom_cohort"]
    assert stages["fit_networks_other_scale"] == "Networks"
    assert stages["clean_timeseries"] == "Preprocessing"
