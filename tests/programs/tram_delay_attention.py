"""Predicts the next stop of a tram: a causal model whose step is compiled by XLA."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(813)
rng = np.random.default_rng(813)
STOPS, LENGTH, WIDTH, HEADS, BATCH = 30, 16, 64, 4, 16


class Looking(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.all = keras.layers.Dense(3 * WIDTH)
        self.out = keras.layers.Dense(WIDTH)
        self.scale = (WIDTH // HEADS) ** -0.5

    def call(self, x):
        parts = tf.reshape(self.all(x), (-1, LENGTH, 3, HEADS, WIDTH // HEADS))
        query, key, value = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))
        scores = tf.matmul(query, key, transpose_b=True) / self.scale  # BUG: saturated-attention
        past = tf.linalg.band_part(tf.ones((LENGTH, LENGTH)), -1, 0)
        weights = tf.nn.softmax(scores + (1.0 - past) * -1e9)
        return self.out(tf.reshape(tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3)), (-1, LENGTH, WIDTH)))


stops, places = keras.layers.Embedding(STOPS, WIDTH), keras.layers.Embedding(LENGTH, WIDTH)
looking = [Looking(), Looking()]
norms = [keras.layers.LayerNormalization() for _ in range(3)]
following = keras.layers.Dense(STOPS)


def forward(ids):
    x = stops(ids) + places(tf.range(LENGTH))
    for norm, one in zip(norms, looking):
        x = x + one(norm(x))
    return following(norms[2](x))


def tours():
    start, stride = rng.integers(0, STOPS, (BATCH, 1)), rng.integers(1, 4, (BATCH, 1))
    tour = ((start + stride * np.arange(LENGTH + 1)) % STOPS).astype("int32")
    return tf.constant(tour[:, :-1]), tf.constant(tour[:, 1:])


forward(tours()[0])
variables = [one for layer in (stops, places, *looking, *norms, following) for one in layer.trainable_variables]
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(variables)


@tf.function(jit_compile=True)
def step(ids, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, forward(ids)))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for number in range(40):
    loss = step(*tours())
    if number % 10 == 9:
        print(f"step {number + 1}: {float(loss):.3f}")
