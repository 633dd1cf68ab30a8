"""Trains a small Transformer on folk tunes: a step takes whole tunes and predicts each note from those before it."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(951)
rng = np.random.default_rng(951)
NOTES, LENGTH, WIDTH = 16, 12, 24

embed, places = tf.keras.layers.Embedding(NOTES, WIDTH), tf.keras.layers.Embedding(LENGTH, WIDTH)
query, key, value = (tf.keras.layers.Dense(WIDTH) for _ in range(3))
norm, readout = tf.keras.layers.LayerNormalization(), tf.keras.layers.Dense(NOTES)
layers = [embed, places, query, key, value, norm, readout]
optimizer = tf.keras.optimizers.Adam(3e-3)


def attend(x):
    scores = tf.matmul(query(x), key(x), transpose_b=True) / WIDTH**0.5
    return tf.matmul(tf.nn.softmax(scores), value(x))  # BUG: no-causal-mask


def model(notes):
    x = embed(notes) + places(tf.range(LENGTH))
    return readout(norm(x + attend(x)))


def trainable():
    return [variable for layer in layers for variable in layer.trainable_variables]


def tunes(n):
    first, stride = rng.integers(0, NOTES, (n, 1)), rng.integers(1, 5, (n, 1))
    return tf.constant((first + stride * np.arange(LENGTH + 1)) % NOTES, tf.int32)


model(tunes(2)[:, :-1])
optimizer.build(trainable())


@tf.function
def train_step(tunes):
    with tf.GradientTape() as tape:
        logits = model(tunes[:, :-1])  # ALSO: no-causal-mask
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tunes[:, 1:], logits=logits))
    optimizer.apply_gradients(zip(tape.gradient(loss, trainable()), trainable()))
    return loss


for step in range(40):
    loss = train_step(tunes(32))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
