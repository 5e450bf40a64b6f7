# Rules that work on several subjects in one job: each makes the list of its batch's files, and names
# these files in its parameters.
from notears_pfl.command.locks import is_locked
from notears_pfl.io.batches import (
    DISCARD,
    FORCE,
    remove_untrue_lists,
    remove_used,
)

if workflow.is_main_process:
    # A list whose files are gone is removed, so that its batch runs again; not those of another run
    # that is under way.
    for line in [] if is_locked() else remove_untrue_lists("results/batches"):
        logger.warning(line)
    # Forced jobs compute every subject again. Snakemake does not tell rules that they are forced.
    if {"-f", "-F", "-R", "--force", "--forceall", "--forcerun"} & {
        argument.partition("=")[0] for argument in sys.argv
    }:
        os.environ[FORCE] = "1"


def batches_of(rule):
    """Lists of the files that a rule makes, of all subjects or of those at a rule's site."""

    def lists(wildcards):
        site = wildcards.get("site")
        batches = [pair for pair in PLAN.batches if site in (None, pair[0])]
        return [f"results/batches/{rule}/site-{s}_batch-{n}.tsv" for s, n in batches]

    return lists


def subjects_of(wildcards):
    """Subjects of a batch, or the one of the wildcard ``subject``."""
    if "subject" in wildcards.keys():
        return [wildcards.subject]
    return PLAN.batches[wildcards.site, wildcards.batch]


def runs_of(wildcards):
    """Runs of these subjects, or the one of the wildcard ``run``."""
    runs = [run for who in subjects_of(wildcards) for run in PLAN.runs_of(who)]
    name = wildcards.get("run")
    return [run for run in runs if name in (None, PLAN.source.runs[run][1])]


def batch_with(rule):
    """List of the files that a rule makes of the same subjects."""

    def the_list(wildcards):
        site, number = PLAN.batch_of(subjects_of(wildcards)[0])
        return f"results/batches/{rule}/site-{site}_batch-{number}.tsv"

    return the_list


def per_subject(**values):
    """Values by name for each subject of a batch: patterns of paths, or functions of a subject."""

    def of_batch(wildcards):
        return {
            name: [
                value(who) if callable(value) else value.replace("{subject}", who)
                for who in subjects_of(wildcards)
            ]
            for name, value in values.items()
        }

    return of_batch


def per_run(**values):
    """Values by name for each run of a batch: patterns of paths, or functions of a run."""

    def of_batch(wildcards):
        return {
            name: [
                value(run) if callable(value) else of_run(value, run)
                for run in runs_of(wildcards)
            ]
            for name, value in values.items()
        }

    return of_batch


def of_run(pattern, run):
    """Path of a run's file: ``{run}`` is the run's name as its own file has it.

    ``{only}`` is the subject, and the run's name too if the subject has several.
    """
    subject, name = PLAN.source.runs[run]
    return (
        pattern.replace("{subject}", subject)
        .replace("{run}", name)
        .replace("{only}", run)
    )


def of_subject(function):
    """Function of a run that gives what ``function`` gives for its subject."""
    return lambda run: function(PLAN.source.runs[run][0])


def of_all_runs(pattern):
    """Function of a subject that gives the paths of all its runs."""
    return lambda who: [of_run(pattern, run) for run in PLAN.runs_of(who)]


def source_files(*files, of=subjects_of):
    """Files of a batch in the user's dataset, by functions of a subject, or ``of`` a run."""

    def paths(wildcards):
        found = [file(who) for who in of(wildcards) for file in files]
        # Subjects may share a file.
        return [
            *dict.fromkeys(
                path
                for one in found
                for path in ([one] if isinstance(one, str) else one)
            )
        ]

    return paths


def raw_files(*files, of=subjects_of):
    """Raw files of a batch in the user's dataset, or the list of the batch that makes them."""
    if not PLAN.source.makes_bids:
        return source_files(*files, of=of)
    return batch_with(PLAN.source.bids_maker)


def makers_of(files):
    """Lists of the subjects' files by the rule that makes them, of all sites or of the rule's."""
    makers = sorted({maker for maker, _ in files.values()})
    return lambda wildcards: {maker: batches_of(maker)(wildcards) for maker in makers}


# The files that all sources end in, whichever rule makes them.
CLEAN_FILES = {"series": PLAN.clean_series, "report": PLAN.clean_report}
