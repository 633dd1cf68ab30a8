"""Decodes the best state path of a left-to-right model in log space."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(373)
TRANSITIONS = tf.constant([[0.7, 0.3, 0.0, 0.0], [0.0, 0.6, 0.4, 0.0], [0.0, 0.0, 0.8, 0.2], [0.0, 0.0, 0.0, 1.0]])
START = tf.constant([1.0, 0.0, 0.0, 0.0])
EMISSIONS = tf.constant(rng.dirichlet(np.ones(6), size=4), tf.float32)


def log_model():
    return tf.math.log(START), tf.math.log(TRANSITIONS), tf.math.log(EMISSIONS)


@tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
def decode(observations):
    log_start, log_trans, log_emit = log_model()
    length = tf.shape(observations)[0]
    score = log_start + tf.gather(log_emit, observations[0], axis=1)
    total = score
    back = tf.TensorArray(tf.int32, size=length - 1)
    for t in tf.range(1, length):
        emission = tf.gather(log_emit, observations[t], axis=1)
        candidates = score[:, None] + log_trans
        back = back.write(t - 1, tf.argmax(candidates, axis=0, output_type=tf.int32))
        score = tf.reduce_max(candidates, axis=0) + emission
        total = tf.reduce_logsumexp(total[:, None] + log_trans, axis=0) + emission
    return score, tf.reduce_logsumexp(total), back.stack()


def trace_back(score, pointers):
    path = [int(tf.argmax(score))]
    for row in pointers.numpy()[::-1]:
        path.append(int(row[path[-1]]))
    return path[::-1]


for length in (4, 12, 40):
    score, log_likelihood, pointers = decode(rng.integers(0, 6, size=length).astype("int32"))
    print(f"T={length} log-likelihood {log_likelihood.numpy():.3f} best path score {tf.reduce_max(score).numpy():.3f}")
    print("  ends in states", trace_back(score, pointers)[-4:])
