"""The costs of a run are summed by rule and by stage."""

import pytest

from run_cost import rule_costs, stage_costs

HEADING = "s\th:m:s\tmax_rss\tcpu_time\n"


@pytest.fixture
def study(tmp_path):
    benchmarks = {
        "anatomical/site-A_batch-1": (20, 300, 18),
        "anatomical/site-B_batch-1": (10, 500, 9),
        "functional/site-A_batch-1": (30, 200, 25),
        "cohort": (2, 80, "NA"),
        "degree": (1, 90, 1),
    }
    for name, (wall, memory, cpu) in benchmarks.items():
        path = tmp_path / f"logs/{name}.benchmark.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{HEADING}{wall}\t0:00:01\t{memory}\t{cpu}\n")
    return tmp_path


def test_costs_of_a_rule_are_those_of_all_its_jobs(study):
    costs = rule_costs(study)

    assert costs.index[0] == "anatomical"
    assert costs.loc["anatomical"].tolist() == ["Preprocessing", 2, 27, 30, 500]
    assert costs.loc["cohort", "cpu_s"] == 0


def test_costs_of_a_stage_are_those_of_its_rules_and_the_total_is_last(study):
    stages = stage_costs(rule_costs(study))

    assert stages.loc["Preprocessing"].tolist() == [3, 52, 60, 500]
    assert stages.iloc[-1].name == "total"
    assert stages.loc["total"].tolist() == [5, 53, 63, 500]


def test_a_folder_that_nothing_ran_in_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no benchmarks\. Run the workflow"):
        rule_costs(tmp_path)
