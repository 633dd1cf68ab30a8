"""Writes the next syllable of a haiku: a causal model of two blocks, attention by hand, a step of its own."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(811)
rng = np.random.default_rng(811)
SYLLABLES, LENGTH, WIDTH, HEADS, BATCH = 24, 18, 48, 4, 16
FOLLOWS = rng.dirichlet(np.full(SYLLABLES, 0.15), SYLLABLES).cumsum(axis=1)


class Heads(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (keras.layers.Dense(WIDTH) for _ in range(4))

    def split(self, x):
        return tf.transpose(tf.reshape(x, (-1, LENGTH, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))

    def call(self, x):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = tf.matmul(query, key, transpose_b=True) / (WIDTH // HEADS) ** 0.5
        past = tf.linalg.band_part(tf.ones((LENGTH, LENGTH), tf.bool), -1, 0)
        weights = tf.nn.softmax(tf.where(past, scores, -1e9))
        read = tf.matmul(weights, value)
        read = tf.reshape(read, (-1, LENGTH, WIDTH))  # BUG: heads-mixed
        return self.out(read)


class Writer(keras.Model):
    def __init__(self):
        super().__init__()
        self.syllables = keras.layers.Embedding(SYLLABLES, WIDTH)
        self.places = keras.layers.Embedding(LENGTH, WIDTH)
        self.heads = [Heads(), Heads()]
        self.norms = [keras.layers.LayerNormalization() for _ in range(3)]
        self.next = keras.layers.Dense(SYLLABLES)

    def call(self, ids):
        x = self.syllables(ids) + self.places(tf.range(LENGTH))
        for norm, heads in zip(self.norms, self.heads):
            x = x + heads(norm(x))
        return self.next(self.norms[2](x))


def haikus():
    lines = rng.integers(0, SYLLABLES, (BATCH, LENGTH + 1)).astype("int32")
    for place in range(LENGTH):
        lines[:, place + 1] = (rng.random((BATCH, 1)) > FOLLOWS[lines[:, place]]).sum(axis=1).clip(0, SYLLABLES - 1)
    return tf.constant(lines[:, :-1]), tf.constant(lines[:, 1:])


model, optimizer = Writer(), keras.optimizers.Adam(2e-3)
model(haikus()[0])
optimizer.build(model.trainable_variables)


@tf.function
def step(ids, following):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(following, model(ids)))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for number in range(60):
    loss = step(*haikus())
    if number % 20 == 19:
        print(f"step {number + 1}: {float(loss):.3f}")
