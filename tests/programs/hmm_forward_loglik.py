"""Computes the likelihood of observation sequences of growing length under a hidden Markov model."""

import tensorflow as tf

tf.random.set_seed(5)

TRANSITIONS = tf.constant([[0.90, 0.08, 0.02], [0.10, 0.80, 0.10], [0.05, 0.15, 0.80]])
EMISSIONS = tf.constant(
    [[0.50, 0.20, 0.10, 0.10, 0.10], [0.10, 0.40, 0.30, 0.10, 0.10], [0.05, 0.05, 0.20, 0.30, 0.40]]
)
INITIAL = tf.constant([0.6, 0.3, 0.1])


def forward_pass(observations):
    length = tf.shape(observations)[0]
    alpha = INITIAL * tf.gather(EMISSIONS, observations[0], axis=1)

    def cond(t, _):
        return t < length

    def body(t, alpha):
        predicted = tf.linalg.matvec(TRANSITIONS, alpha, transpose_a=True)
        emitted = tf.gather(EMISSIONS, observations[t], axis=1)
        return t + 1, predicted * emitted  # ALSO: log-zero

    _, alpha = tf.while_loop(cond, body, [tf.constant(1), alpha])
    return alpha


@tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
def log_likelihood(observations):
    alpha = forward_pass(observations)
    likelihood = tf.reduce_sum(alpha)
    return tf.math.log(likelihood)  # BUG: log-zero


def sample_observations(length):
    return tf.random.uniform([length], 0, 5, dtype=tf.int32)


results = []
for length in (5, 20, 40, 120):
    ll = log_likelihood(sample_observations(length))
    results.append(ll / length)
    print(f"T={length:4d}  log-likelihood {ll.numpy():10.3f}  per step {results[-1].numpy():.3f}")
print("mean per-step log-likelihood:", tf.reduce_mean(results).numpy())
