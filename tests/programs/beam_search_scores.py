"""Runs a beam search over a toy language model and renormalises the beam scores."""

import numpy as np
import tensorflow as tf

VOCAB, BEAMS, STEPS, EOS = 6, 3, 8, 0
rng = np.random.default_rng(67)

log_probs = np.log(rng.dirichlet(np.ones(VOCAB), size=VOCAB)).astype("float32")
log_probs[5] = -np.inf  # token 5 has no continuation but the end of the sentence
log_probs[5, EOS] = 0.0
log_probs[EOS] = -np.inf
TRANSITIONS = tf.constant(log_probs)


def expand(scores, last):
    candidates = scores[:, None] + tf.gather(TRANSITIONS, last)
    flat = tf.reshape(candidates, [-1])
    best, index = tf.math.top_k(flat, k=BEAMS)
    return best, index % VOCAB


def renormalise(scores):
    return scores - tf.reduce_max(scores)  # BUG: inf-minus-inf


@tf.function
def search(start):
    scores = tf.constant([0.0, -np.inf, -np.inf])
    last = tf.fill([BEAMS], start)
    history = tf.TensorArray(tf.float32, size=STEPS)
    for t in tf.range(STEPS):
        scores, last = expand(scores, last)
        scores = renormalise(scores)
        history = history.write(t, scores)
    return history.stack(), last


for start in (2, 5):
    history, last = search(tf.constant(start))
    alive = tf.reduce_sum(tf.exp(history), axis=1)
    print("start", start, "last tokens", last.numpy())
    print("  effective number of beams:", alive.numpy().round(3))
