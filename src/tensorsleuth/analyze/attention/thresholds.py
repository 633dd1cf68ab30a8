"""Thresholds of remarks on attention, for the command, the page and `sleuth why`; see docs/transformers.md."""

from __future__ import annotations

MAX_ROW_SUM_ERROR = 0.02  # |sum of a row - 1|; a softmax in bfloat16 is off by 0.004
MIN_COLLAPSED_WEIGHT = 0.95  # mean weight of one key
MIN_UNIFORM_EVENNESS = (
    0.98  # evenness of a row: its entropy, divided by that of a row which gives all keys that it sees the same
)
MAX_BLIND_DISTANCE = 0.02  # how far the weights of queries are apart: share of the weight that would have to move
MAX_LIVELY_EVENNESS = 0.9  # evenness below which a head chooses
MIN_LIVELY_SHARE = 0.5  # of all heads: so many have to choose before one that does not is remarkable
MIN_TRAINED_STEPS = 100  # before that step heads are even because nothing has been learnt
MIN_TRAINED_SAMPLES = 3  # and so often it must have been seen
LONG_TRAINED_STEPS = 2000  # from here on heads are dead also where none is alive
MIN_AHEAD_WEIGHT = 0.001  # mean weight on later keys
MAX_PREFIX_SHARE = 0.8  # of the queries; fewer are those of a prefix that is read whole
MIN_AHEAD_WEIGHT_IN_BLOCKS = 0.01  # the same where queries were put together, of which some may see nothing
MAX_CAUSAL_WEIGHT = 1e-6  # below this a head does not look ahead
MIN_CAUSAL_SHARE = 2 / 3  # of the attention of the same name beside it
MAX_PADDING_WEIGHT = 0.01  # mean weight that queries which are tokens give to padding
MIN_KEYS, MIN_QUERIES = 4, 4  # of less nothing is said
