"""Individual differences: weights of connections in single subjects against a characteristic."""

import pandas as pd

from notears_pfl.report.findings import Findings
from notears_pfl.report.page_parts import Section, page_table

# Rows of the table, those of the smallest p first.
MOST_SHOWN = 20
FOUND = 0.05


def individual_section(findings: Findings) -> Section:
    """Show the connections that vary most clearly with each column of ``analysis.regress_on``."""
    table = findings.tables["weight_regression"]
    clearest = table[table["p"].notna()].sort_values("p", kind="stable").head(MOST_SHOWN)
    shown = clearest.assign(
        connection=clearest["from"] + " → " + clearest["to"],
        interval=[
            f"{low:+.2g} to {high:+.2g}".replace("-", "−")
            for low, high in zip(clearest["low"], clearest["high"], strict=True)
        ],
    )
    return Section(
        "individual",
        "Individual differences",
        {
            "columns": [
                {
                    "name": column,
                    "tested": int(own["p"].notna().sum()),
                    "found": int((own["q"] <= FOUND).sum()),
                    "missing": int(own["missing"].max()),
                }
                for column, own in table.groupby("column", sort=False)
            ],
            "covariates": findings.config["analysis"].get("regress_covariates", []),
            "table": page_table(
                "individual",
                f"The {len(shown)} smallest p-values of {int(table['p'].notna().sum())}; effect: "
                "change of the weight per unit of the column; r: partial correlation",
                pd.DataFrame(shown),
                {
                    "column": "column", "group": "group", "connection": "connection",
                    "n": "subjects", "missing": "left out", "effect": "effect",
                    "interval": "95 % interval", "r": "r", "p": "p", "q": "q",
                },
                {"effect": "+.2g", "r": "+.2f", "p": ".2g", "q": ".2g"},
            ),
        },
    )  # fmt: skip
