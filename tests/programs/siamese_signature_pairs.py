"""Learns an embedding for signature pairs with a contrastive loss."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

encoder = tf.keras.Sequential(
    [
        tf.keras.layers.Input((12,)),
        tf.keras.layers.Dense(16, activation="tanh"),
        tf.keras.layers.Dense(4),
    ]
)
optimizer = tf.keras.optimizers.Adam(0.005)


def make_pairs(n=80):
    left = rng.normal(size=(n, 12)).astype("float32")
    same = rng.integers(0, 2, size=n).astype("float32")
    right = np.where(same[:, None] == 1, left + rng.normal(scale=0.1, size=(n, 12)), rng.normal(size=(n, 12))).astype(
        "float32"
    )
    right[50], same[50] = left[50], 1.0  # the same scan filed twice
    return left, right, same


def embedding_distance(a, b):
    return tf.sqrt(tf.reduce_sum(tf.square(a - b), axis=1))  # BUG: grad-sqrt-zero


def contrastive_loss(distance, same, margin=1.0):
    pull = same * distance
    push = (1.0 - same) * tf.square(tf.maximum(margin - distance, 0.0))
    return tf.reduce_mean(pull + push)


@tf.function
def train_step(left, right, same):
    with tf.GradientTape() as tape:
        distance = embedding_distance(encoder(left), encoder(right))
        loss = contrastive_loss(distance, same)
    grads = tape.gradient(loss, encoder.trainable_variables)
    optimizer.apply_gradients(zip(grads, encoder.trainable_variables))
    return loss


pairs = tf.data.Dataset.from_tensor_slices(make_pairs()).batch(8)
for epoch in range(2):
    for step, (left, right, same) in enumerate(pairs):
        loss = train_step(left, right, same)
        print(f"epoch {epoch} step {step} loss {loss.numpy():.4f}")
