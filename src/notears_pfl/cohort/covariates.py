"""Columns of the cohort table that describe subjects: names, and what their values must be."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from notears_pfl.errors import CohortError

# Quality columns of the cohort table, and the keys of a subject's report they are read from.
QUALITY = {
    "n_volumes": "n_volumes",
    "mean_fd_mm": "mean_fd_power_mm",
    "share_fd_above": "share_fd_power_mm_above_0.5",
    "mean_dvars_percent": "mean_dvars_percent",
    "median_tsnr": "median_tsnr",
    "brain_ml": "brain_ml",
    "head_agreement": "head_agreement",
    "surface_correction": "surface_correction",
    "template_agreement_affine": "template_agreement_affine",
    "template_agreement": "template_agreement",
    "affine_volume": "affine_volume",
    "smallest_jacobian": "smallest_jacobian",
    "bold_t1w_agreement": "bold_t1w_agreement",
    "brain_coverage": "brain_coverage",
    "degrees_of_freedom": "degrees_of_freedom",
}
# Subjects named in a message.
MOST_NAMED = 10
# Categories of a column that weights are regressed on.
MOST_CATEGORIES = 10
# Shorter names of quality columns.
SHORT_NAMES = {"mean_fd": "mean_fd_mm"}


def as_numbers(table: pd.DataFrame, *, every: bool = False) -> pd.DataFrame:
    """Replace each text column by 0/1 columns named ``column = value``, all values but the last.

    With ``every``, those of three or more values have the last, too: two would only say the same.
    """
    columns = {}
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column):
            columns[str(name)] = column.astype(float)
        else:
            values = sorted(column.dropna().unique())
            for value in values if every and len(values) > 2 else values[:-1]:
                columns[f"{name} = {value}"] = (column == value).where(column.notna()).astype(float)
    return pd.DataFrame(columns, index=table.index)


def predictors(
    subjects: pd.DataFrame, columns: Sequence[str], name: str, setting: str, *, every: bool = False
) -> pd.DataFrame:
    """Columns of the table ``name`` as numbers for a regression, indexed by participant.

    Categories become 0/1 columns, as in :func:`as_numbers`; ``every`` of three or more, if each is
    compared with all others.
    """
    chosen = subjects[[SHORT_NAMES.get(c, c) for c in columns]]
    text = [str(c) for c in chosen if not pd.api.types.is_numeric_dtype(chosen[c])]
    for column in text:
        values = subjects[subjects[column].notna()]
        refuse_numbers_in_text(values, [column], name, setting)
        found = sorted(values[column].unique())
        if len(found) > MOST_CATEGORIES:
            msg = (
                f"{name}: {setting} needs numbers, or at most {MOST_CATEGORIES} "
                f"categories; {column} has {len(found)} ({', '.join(map(str, found[:5]))}, …). "
                "Name another column."
            )
            raise CohortError(msg)
    return as_numbers(chosen, every=every).set_index(pd.Index(subjects["participant_id"]))


def subjects_without_values(
    subjects: pd.DataFrame, columns: Sequence[str], setting: str, consequence: str
) -> Iterator[str]:
    """Name the subjects without a value, by column, and say what that means for them."""
    for column in (SHORT_NAMES.get(c, c) for c in columns):
        who = subjects["participant_id"][subjects[column].isna()].tolist()
        if who:
            more = ", …" if len(who) > MOST_NAMED else ""
            yield (
                f"{setting}: {column} is unknown for {len(who)} of {len(subjects)} subjects "
                f"({', '.join(who[:MOST_NAMED])}{more}). {consequence}"
            )


def check_known(
    covariates: Sequence[str], columns: Iterable[str], name: str, setting: str = "cohort.match"
) -> None:
    """Refuse covariates that no column is named after."""
    columns = list(columns)
    unknown = [c for c in covariates if SHORT_NAMES.get(c, c) not in columns]
    if unknown:
        msg = (
            f"{name}: {setting} names {listed([repr(c) for c in unknown])}, but there is no "
            f"such column; there are {', '.join(map(str, columns))}. Correct the setting, or add "
            "the column."
        )
        raise CohortError(msg)


def refuse_constant(subjects: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    """Refuse a column in which all subjects are alike: matching on it does nothing."""
    for column in columns:
        values = subjects[column].unique()
        if len(values) < 2:
            found = f"all {len(subjects)} have {values[0]}" if len(values) else "no subject is left"
            msg = (
                f"{name}: cohort.match needs subjects that differ in {column}; {found}. Remove "
                f"{column} from cohort.match."
            )
            raise CohortError(msg)


def refuse_numbers_in_text(
    subjects: pd.DataFrame, columns: Sequence[str], name: str, setting: str = "cohort.match"
) -> None:
    """Refuse numbers among text: matched as text, 31 and 32 would be as far apart as 31 and 80."""
    for column in columns:
        is_number = pd.to_numeric(subjects[column], errors="coerce").notna()
        if is_number.any():
            text = subjects[~is_number]
            found = f"{text[column].iloc[0]!r} of {text['participant_id'].iloc[0]}"
            msg = (
                f"{name}: {setting} needs numbers or categories in {column}; it has "
                f"{int(is_number.sum())} numbers and {len(text)} texts ({found}). Write n/a where "
                "a value is unknown."
            )
            raise CohortError(msg)


def listed(names: Sequence[str]) -> str:
    """Names with commas and a last "and"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
