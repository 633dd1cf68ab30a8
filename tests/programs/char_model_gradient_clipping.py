"""Trains a character bigram model with hand-made likelihood and clipped gradients."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(157)
rng = np.random.default_rng(157)
TEXT = "the quick brown fox jumps over the lazy dog and runs away from the bear " * 4
CHARS = sorted(set(TEXT))
IDS = np.array([CHARS.index(c) for c in TEXT], dtype="int32")

table = tf.Variable(tf.random.normal([len(CHARS), len(CHARS)], stddev=0.5))
temperature = tf.Variable(0.4, trainable=False)
optimizer = tf.keras.optimizers.SGD(1.0, momentum=0.8)


def unnormalised(ids):
    energy = tf.gather(table, ids) / temperature
    return tf.exp(energy)  # BUG: exp-overflow


def negative_log_likelihood(current, following):
    weights = unnormalised(current)
    chosen = tf.gather(weights, following, batch_dims=1)
    return tf.reduce_mean(tf.math.log(tf.reduce_sum(weights, axis=1)) - tf.math.log(chosen))  # ALSO: logsumexp-by-hand


@tf.function
def train_step(current, following):
    with tf.GradientTape() as tape:
        loss = negative_log_likelihood(current, following)
    grads = [tf.convert_to_tensor(tape.gradient(loss, table))]
    grads, norm = tf.clip_by_global_norm(grads, 1.0)  # ALSO: exp-overflow
    optimizer.apply_gradients(zip(grads, [table]))
    temperature.assign(0.9 * temperature)
    return loss, norm


for step in range(40):
    start = rng.integers(0, len(IDS) - 33)
    window = IDS[start : start + 33]
    loss, norm = train_step(window[:-1], window[1:])
    if step % 4 == 3:
        print(f"step {step + 1:2d} loss {loss.numpy():.4f} gradient norm {norm.numpy():.3f}")
