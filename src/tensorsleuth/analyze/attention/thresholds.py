"""Thresholds of remarks on attention, for the command, the page and `sleuth why`; see docs/transformers.md."""

from __future__ import annotations

OFF_SUM = 0.02  # |sum of a row - 1|; a softmax in bfloat16 is off by 0.004
COLLAPSED = 0.95  # mean weight of one key
EVEN = 0.98  # evenness of a row: its entropy, divided by that of a row which gives all keys that it sees the same
BLIND = 0.02  # how far the weights of queries are apart: share of the weight that would have to move
LIVELY = 0.9  # evenness below which a head chooses
LIVELY_SHARE = 0.5  # of all heads: so many have to choose before one that does not is remarkable
TRAINED_STEPS = 100  # before that step heads are even because nothing has been learnt
TRAINED_LOOKS = 3  # and so often it must have been seen
LONG_TRAINED_STEPS = 2000  # from here on heads are dead also where none is alive
AHEAD = 0.001  # mean weight on later keys
MOST_AHEAD = 0.8  # of the queries; fewer are those of a prefix that is read whole
AHEAD_IN_BLOCKS = 0.01  # the same where queries were put together, of which some may see nothing
CAUSAL = 1e-6  # below this a head does not look ahead
CAUSAL_SHARE = 2 / 3  # of the attention of the same name beside it
ON_PADDING = 0.01  # mean weight that queries which are tokens give to padding
FEWEST_KEYS, FEWEST_QUERIES = 4, 4  # of less nothing is said
