"""Trains a shared trunk on a regression and a ranking task at once, one optimiser per head."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(211)
rng = np.random.default_rng(211)

trunk_a = tf.keras.layers.Dense(8, activation="tanh")
trunk_b = tf.keras.layers.Dense(8, activation="tanh")
head_a = tf.keras.layers.Dense(1)
head_b = tf.keras.layers.Dense(5)


def relative_error(target, prediction):
    return tf.reduce_mean(tf.abs(target - prediction) / target)  # BUG: divide-by-zero


def listwise_loss(relevance, scores):
    wanted = relevance / tf.reduce_sum(relevance, axis=1, keepdims=True)
    entropy = tf.reduce_sum(wanted * tf.math.log(wanted), axis=1)  # BUG: log-zero
    cross = tf.reduce_sum(wanted * tf.nn.log_softmax(scores), axis=1)
    return tf.reduce_mean(entropy - cross)


def make_batch(step):
    x = rng.normal(size=(8, 6)).astype("float32")
    price = rng.uniform(1, 3, size=(8, 1)).astype("float32")
    relevance = rng.uniform(0.1, 1.0, size=(8, 5)).astype("float32")
    if step == 4:
        price[2] = 0.0  # free sample
    if step == 6:
        relevance[1, 3] = 0.0  # judged irrelevant
    return x, price, relevance


def train(layers, loss_of, optimizer, x, target):
    with tf.GradientTape() as tape:
        loss = loss_of(target, layers[1](layers[0](x)))
    variables = [v for layer in layers for v in layer.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return float(loss)


adam_a, adam_b = tf.keras.optimizers.Adam(0.01), tf.keras.optimizers.Adam(0.01)
for step in range(9):
    x, price, relevance = make_batch(step)
    loss_a = train([trunk_a, head_a], relative_error, adam_a, x, price)
    loss_b = train([trunk_b, head_b], listwise_loss, adam_b, x, relevance)
    print(f"step {step} price loss {loss_a:.4f} ranking loss {loss_b:.4f}")
