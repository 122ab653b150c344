"""Confident learning: ranks the edges whose label cleanlab takes for an error. Reads probabilities and labels, writes numbers of edges."""
import sys

import numpy
from cleanlab.filter import find_label_issues

folder = sys.argv[1]
labels = numpy.fromfile(f"{folder}/labels.u32", numpy.uint32).astype(int)
probabilities = numpy.fromfile(f"{folder}/probabilities.f32", numpy.float32).reshape(len(labels), -1)
# cleanlab wants every class to occur, and rows that add up to one in double precision.
probabilities = probabilities.astype(float)
probabilities /= probabilities.sum(axis=1, keepdims=True)
ranked = find_label_issues(labels, probabilities, return_indices_ranked_by="self_confidence", n_jobs=1)
print("\n".join(map(str, ranked)))
