"""Runs graph attention over batches of small molecules, masking pairs without a bond."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(113)
rng = np.random.default_rng(113)
ATOMS, DIM = 6, 8


def random_molecules(n):
    bonds = (rng.uniform(size=(n, ATOMS, ATOMS)) < 0.5).astype("float32")
    bonds = np.maximum(bonds, np.eye(ATOMS, dtype="float32"))
    sizes = rng.choice([3, 4, 5, 6], p=[0.1, 0.2, 0.3, 0.4], size=n)
    for b, size in zip(bonds, sizes):
        if size < 4:
            b[size:, :] = 0.0  # slots that hold no atom
            b[:, size:] = 0.0
    features = rng.normal(size=(n, ATOMS, DIM)).astype("float32")
    return features, bonds, rng.normal(size=(n, 1)).astype("float32")


project = tf.keras.layers.Dense(DIM)
score_left = tf.keras.layers.Dense(1)
score_right = tf.keras.layers.Dense(1)
readout = tf.keras.layers.Dense(1)
optimizer = tf.keras.optimizers.Adam(0.01)


def masked_attention(h, bonds):
    scores = tf.nn.leaky_relu(score_left(h) + tf.transpose(score_right(h), [0, 2, 1]))
    scores = tf.where(bonds > 0, scores, tf.fill(tf.shape(scores), float("-inf")))  # ALSO: masked-row
    return tf.nn.softmax(scores, axis=-1)  # BUG: masked-row


def predict(features, bonds):
    h = project(features)
    h = tf.nn.relu(tf.matmul(masked_attention(h, bonds), h))
    return readout(tf.reduce_mean(h, axis=1))


def variables():
    return [v for layer in (project, score_left, score_right, readout) for v in layer.trainable_variables]


for step in range(12):
    features, bonds, target = random_molecules(4)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(predict(features, bonds) - target))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables()), variables()))
    print(f"step {step} loss {float(loss):.4f}")
