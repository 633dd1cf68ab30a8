"""Predicts the mood of a tune with an encoder as in T5: small first weights in the place of scaled scores."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(823)
rng = np.random.default_rng(823)
FRAMES, WIDTH, HEADS, MOODS = 24, 128, 2, 4
DEPTH = WIDTH // HEADS
small = keras.initializers.VarianceScaling(DEPTH**-0.5, "fan_in")


def split(x):
    return tf.transpose(tf.reshape(x, (-1, FRAMES, HEADS, DEPTH)), (0, 2, 1, 3))


class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm = keras.layers.LayerNormalization()
        self.qkv = keras.layers.Dense(3 * WIDTH, kernel_initializer=small)
        self.out = keras.layers.Dense(WIDTH)

    def call(self, x):
        q, k, v = (split(part) for part in tf.split(self.qkv(self.norm(x)), 3, axis=-1))
        scores = tf.matmul(q, k, transpose_b=True)
        weights = tf.nn.softmax(scores)
        mixed = tf.transpose(tf.matmul(weights, v), (0, 2, 1, 3))
        return x + self.out(tf.reshape(mixed, (-1, FRAMES, WIDTH)))


blocks = [Block() for _ in range(2)]
enter, leave = keras.layers.Dense(WIDTH), keras.layers.Dense(MOODS)
optimizer = keras.optimizers.Adam(1e-3)


def tunes(n):
    mood = rng.integers(0, MOODS, n)
    frames = rng.normal(size=(n, FRAMES, 16))
    frames[np.arange(n), rng.integers(0, FRAMES, n), mood] += 4
    return tf.constant(frames, tf.float32), tf.constant(mood, tf.int32)


def model(frames):
    x = enter(frames)
    for block in blocks:
        x = block(x)
    return leave(tf.reduce_mean(x, axis=1))


def trainable():
    return [variable for layer in (enter, *blocks, leave) for variable in layer.trainable_variables]


model(tunes(1)[0])
optimizer.build(trainable())


@tf.function
def train_step(frames, mood):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=mood, logits=model(frames))
        loss = tf.reduce_mean(losses)
    optimizer.apply_gradients(zip(tape.gradient(loss, trainable()), trainable()))
    return loss


for step in range(40):
    loss = train_step(*tunes(16))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
