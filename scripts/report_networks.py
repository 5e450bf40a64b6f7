"""Rule ``report_networks``: networks of a group, and its connections found at one site only."""

from notears_pfl.io.networks import read_networks
from notears_pfl.io.rulelog import rule_log
from notears_pfl.io.sidecars import read_sidecar
from notears_pfl.io.tables import read_regions, read_table
from notears_pfl.report.figure_style import save_figure
from notears_pfl.report.findings import selected_rois
from notears_pfl.report.sections.site_networks import network_figures, site_specific_figure

with rule_log(snakemake.log[0]):
    params, inputs, output = snakemake.params, snakemake.input, snakemake.output
    group, rois = snakemake.wildcards.group, selected_rois(read_regions(inputs.rois))
    networks = read_networks(inputs.networks, [(group, site) for site in params.sites])
    for k, (site, sidecar) in enumerate(zip(params.sites, inputs.sidecars, strict=True)):
        n_subjects = read_sidecar(sidecar)["Subjects"]
        figures = network_figures(networks[group, site], rois, f"{group} at {site}", n_subjects)
        for kind, figure in figures.items():
            save_figure(figure, output[kind][k], output[f"{kind}_svg"][k])
    alone = site_specific_figure(read_table(inputs.alone), group, params.sites, rois)
    save_figure(alone, output.alone, output.alone_svg)
