"""Rule ``compare_networks``: all methods on the subjects of one draw."""

from notears_pfl.baselines.equal_sparsity import ComparisonOptions, compare_draw
from notears_pfl.cohort.draws import draw_subjects
from notears_pfl.cohort.samples import run_series
from notears_pfl.io.batches import ListedFiles
from notears_pfl.io.networks import read_subjects, with_parameters
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.tables import read_table, write_table

with rule_log(snakemake.log[0]):
    params, output = snakemake.params, snakemake.output
    draw = int(snakemake.wildcards.draw)
    cohort = read_table(snakemake.input.cohort)
    drawn = draw_subjects(cohort, params.groups, params.sites, params.sizes, [draw], params.seed)
    paths = ListedFiles(snakemake.input.series, "series", params.participants)
    raw = read_subjects(drawn["participant_id"].unique(), paths, params.rois)
    series = {name: run_series({name: table}, params.scale) for name, table in raw.items()}
    sets = {
        name: {
            site: [series[who] for who in members.loc[members["site"] == site, "participant_id"]]
            for site in params.sites
        }
        for name, members in drawn.groupby("set", sort=False)
    }
    # κ of both groups together, as in the networks of the study; λ follows the size of the draw.
    estimator = with_parameters(params.estimator, snakemake.input.pooled, ["kappa"])
    options = ComparisonOptions(estimator=estimator, **params.methods)
    tables = compare_draw(sets, params.rois, params.baselines, options)
    for table, path in (
        (tables.edges, output.edges),
        (tables.networks, output.networks),
        (tables.cost, output.cost),
    ):
        table.insert(0, "draw", draw)
        write_table(table, path, index=False)
