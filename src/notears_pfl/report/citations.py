"""Works that the methods paragraph cites, as text and as BibTeX."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """A published work.

    ``fields`` are BibTeX's own, in the order of an entry; ``kind`` is the type of the entry.
    """

    key: str
    kind: str
    short: str
    fields: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """One line for a list of references."""
        entry = dict(self.fields)
        place = entry.get("journal") or entry.get("booktitle") or entry.get("note", "")
        pages = entry.get("pages", "").replace("--", "–")
        numbers = ":".join(part for part in (entry.get("volume"), pages) if part)
        year = f" {entry['year']}" if "year" in entry else ""
        authors = entry["author"].replace(" and others", " et al.").replace(" and ", "; ")
        said = f"{authors.rstrip('.')}. {entry['title'].rstrip('!')}. {place}{year}"
        return f"{said};{numbers}." if numbers else f"{said}."

    @property
    def bibtex(self) -> str:
        """The entry in BibTeX."""
        lines = [f"  {name} = {{{value}}}," for name, value in self.fields]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


def _article(key: str, short: str, **fields: str) -> Work:
    return Work(key, "article", short, tuple(fields.items()))


def _proceedings(key: str, short: str, **fields: str) -> Work:
    return Work(key, "inproceedings", short, tuple(fields.items()))


_WORKS = (
    Work(
        "liu_notears_pfl", "unpublished", "Liu et al.",
        (
            ("author", "Liu, Shuai and Guo, Xiao and Qi, Shun and Wang, Huaning and Chang, "
             "Xiangyu"),
            ("title", "Learning Personalized Brain Functional Connectivity of MDD Patients from "
             "Multiple Sites via Federated Bayesian Networks"),
            ("note", "Manuscript"),
        ),
    ),
    _proceedings(
        "zheng2018notears", "Zheng et al. 2018",
        author="Zheng, Xun and Aragam, Bryon and Ravikumar, Pradeep and Xing, Eric P.",
        title="DAGs with NO TEARS: Continuous Optimization for Structure Learning",
        booktitle="Advances in Neural Information Processing Systems", volume="31", year="2018",
    ),
    _article(
        "boyd2011admm", "Boyd et al. 2011",
        author="Boyd, Stephen and Parikh, Neal and Chu, Eric and Peleato, Borja and Eckstein, "
        "Jonathan",
        title="Distributed Optimization and Statistical Learning via the Alternating Direction "
        "Method of Multipliers",
        journal="Foundations and Trends in Machine Learning", volume="3", pages="1--122",
        year="2011",
    ),
    _proceedings(
        "reisach2021beware", "Reisach et al. 2021",
        author="Reisach, Alexander G. and Seiler, Christof and Weichwald, Sebastian",
        title="Beware of the Simulated DAG! Causal Discovery Benchmarks May Be Easy to Game",
        booktitle="Advances in Neural Information Processing Systems", volume="34", year="2021",
    ),
    _proceedings(
        "reisach2023scale", "Reisach et al. 2023",
        author="Reisach, Alexander G. and Tami, Myriam and Seiler, Christof and Chambaz, Antoine "
        "and Weichwald, Sebastian",
        title="A Scale-Invariant Sorting Criterion to Find a Causal Order in Additive Noise Models",
        booktitle="Advances in Neural Information Processing Systems", volume="36", year="2023",
    ),
    _article(
        "friston1996movement", "Friston et al. 1996",
        author="Friston, Karl J. and Williams, Steven and Howard, Robert and Frackowiak, Richard "
        "S. J. and Turner, Robert",
        title="Movement-related effects in fMRI time-series",
        journal="Magnetic Resonance in Medicine", volume="35", pages="346--355", year="1996",
    ),
    _article(
        "power2012spurious", "Power et al. 2012",
        author="Power, Jonathan D. and Barnes, Kelly A. and Snyder, Abraham Z. and Schlaggar, "
        "Bradley L. and Petersen, Steven E.",
        title="Spurious but systematic correlations in functional connectivity MRI networks arise "
        "from subject motion",
        journal="NeuroImage", volume="59", pages="2142--2154", year="2012",
    ),
    _article(
        "tzourio2002aal", "Tzourio-Mazoyer et al. 2002",
        author="Tzourio-Mazoyer, N. and Landeau, B. and Papathanassiou, D. and Crivello, F. and "
        "Etard, O. and Delcroix, N. and Mazoyer, B. and Joliot, M.",
        title="Automated anatomical labeling of activations in SPM using a macroscopic anatomical "
        "parcellation of the MNI MRI single-subject brain",
        journal="NeuroImage", volume="15", pages="273--289", year="2002",
    ),
    _article(
        "fonov2011atlases", "Fonov et al. 2011",
        author="Fonov, Vladimir and Evans, Alan C. and Botteron, Kelly and Almli, C. Robert and "
        "McKinstry, Robert C. and Collins, D. Louis",
        title="Unbiased average age-appropriate atlases for pediatric studies",
        journal="NeuroImage", volume="54", pages="313--327", year="2011",
    ),
    _article(
        "yan2010dparsf", "Yan and Zang 2010",
        author="Yan, Chao-Gan and Zang, Yu-Feng",
        title="DPARSF: a MATLAB toolbox for ``pipeline'' data analysis of resting-state fMRI",
        journal="Frontiers in Systems Neuroscience", volume="4", pages="13", year="2010",
    ),
    _article(
        "molder2021snakemake", "Mölder et al. 2021",
        author="Mölder, Felix and Jablonski, Kim Philipp and Letcher, Brice and Hall, Michael B. "
        "and Tomkins-Tinch, Christopher H. and others",
        title="Sustainable data analysis with Snakemake",
        journal="F1000Research", volume="10", pages="33", year="2021",
    ),
)  # fmt: skip
WORKS = {work.key: work for work in _WORKS}


def cite(*keys: str) -> str:
    """Citation in brackets, short."""
    return "(" + "; ".join(WORKS[key].short for key in keys) + ")"


def bibliography(keys: Iterable[str]) -> list[Work]:
    """Cited works, each once, in the order of citation."""
    return [WORKS[key] for key in dict.fromkeys(keys)]
