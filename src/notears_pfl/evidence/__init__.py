"""What a finding needs before it is one: chance levels, stability and replication.

moments       second moments of single subjects, and their sums
labels        permuted labels, and equal numbers of patients and controls
pooled        the fit of both groups together, from which all draws start
comparison    what is compared between two groups' networks
contrast      difference of a connection's weight between groups
permutation   draws of permuted labels, with networks searched again
significance  p-values and false discovery rates of their figures
bootstrap     how often a connection and its direction return in resampled subjects
replication   whether connections return in the validation set
subjects      the subjects of a study as arrays
scorecard     how much of a published list comes back
"""

from notears_pfl.evidence.bootstrap import bootstrap
from notears_pfl.evidence.permutation import permutation

__all__ = ["bootstrap", "permutation"]
