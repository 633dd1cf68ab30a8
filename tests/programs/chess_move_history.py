"""Learns which of a game's moves decides it: attention over the moves, each looking back at those before it."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(901)
rng = np.random.default_rng(901)
MOVES, LENGTH, WIDTH = 20, 12, 32

embed, places = keras.layers.Embedding(MOVES, WIDTH), keras.layers.Embedding(LENGTH, WIDTH)
query, key, value = (keras.layers.Dense(WIDTH) for _ in range(3))
verdict = keras.layers.Dense(MOVES)
layers = [embed, places, query, key, value, verdict]
optimizer = keras.optimizers.Adam(3e-3)


def earlier_moves(length):
    position = tf.range(length)
    return position[:, None] > position[None, :]  # BUG: masked-rows


def attend(x):
    scores = tf.matmul(query(x), key(x), transpose_b=True) / WIDTH**0.5
    scores += (1.0 - tf.cast(earlier_moves(LENGTH), tf.float32)) * -1e9  # ALSO: masked-rows
    return tf.matmul(tf.nn.softmax(scores), value(x))  # ALSO: masked-rows


def model(games):
    x = embed(games) + places(tf.range(LENGTH))
    return verdict(x + attend(x))


def games_of(n):
    games = rng.integers(0, MOVES, size=(n, LENGTH))
    best = np.maximum.accumulate(games, axis=1)
    return games.astype("int32"), best.astype("int32")


def trainable():
    return [variable for layer in layers for variable in layer.trainable_variables]


model(games_of(2)[0])
optimizer.build(trainable())


@tf.function
def train_step(games, best):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=best, logits=model(games))
        loss = tf.reduce_mean(losses)
    optimizer.apply_gradients(zip(tape.gradient(loss, trainable()), trainable()))
    return loss


for step in range(40):
    loss = train_step(*games_of(32))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
