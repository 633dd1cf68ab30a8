"""Thresholds of remarks on attention, for the command, the page and `sleuth why`; see docs/transformers.md."""

from __future__ import annotations

MAX_ROW_SUM_ERROR = 0.02  # |sum of a row - 1|; a softmax in bfloat16 is off by 0.004
MIN_COLLAPSED_WEIGHT = 0.95  # mean weight of one key
MIN_UNIFORM_EVENNESS = (
    0.98  # evenness of a row: its entropy as a share of the entropy of uniform weights on the keys that it sees
)
MAX_BLIND_DISTANCE = 0.02  # between the weights of two queries: the share of the weight that would have to move
MAX_LIVELY_EVENNESS = 0.9  # a head with less evenness chooses among keys
MIN_LIVELY_SHARE = 0.5  # this share of all heads must choose, before one that does not is remarkable
MIN_TRAINED_STEPS = 100  # before that step, heads are even because nothing has been learnt
MIN_TRAINED_SAMPLES = 3  # the number of samples needed
LONG_TRAINED_STEPS = 2000  # from here on, heads count as dead even if no head is alive
MIN_AHEAD_WEIGHT = 0.001  # mean weight on later keys
MAX_PREFIX_SHARE = 0.8  # share of the queries; fewer belong to a prefix that is read as a whole
MIN_AHEAD_WEIGHT_IN_BLOCKS = 0.01  # the same for blocks of queries, some of which may see nothing
MAX_CAUSAL_WEIGHT = 1e-6  # a head with less attends to no later keys
MIN_CAUSAL_SHARE = 2 / 3  # share of the attention layers of the same name
MAX_PADDING_WEIGHT = 0.01  # mean weight that tokens, as queries, give to padding
MIN_KEYS, MIN_QUERIES = 4, 4  # smaller attention gets no remarks
