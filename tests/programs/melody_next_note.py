"""Learns to go on with a melody, note by note: causal attention by hand, in a training step of its own."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(916)
rng = np.random.default_rng(916)
NOTES, LENGTH, WIDTH = 24, 16, 32


class Decoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.notes = keras.layers.Embedding(NOTES, WIDTH)
        self.places = keras.layers.Embedding(LENGTH, WIDTH)
        self.query, self.key, self.value = (keras.layers.Dense(WIDTH) for _ in range(3))
        self.norm = keras.layers.LayerNormalization()
        self.logits = keras.layers.Dense(NOTES)

    def call(self, notes):
        x = self.notes(notes) + self.places(tf.range(tf.shape(notes)[1]))
        scores = tf.matmul(self.query(x), self.key(x), transpose_b=True) / WIDTH**0.5
        past = tf.linalg.band_part(tf.ones_like(scores[0]), -1, 0) > 0
        weights = tf.nn.softmax(tf.where(past, scores, -1e9))
        return self.logits(self.norm(x + tf.matmul(weights, self.value(x))))


model = Decoder()
model(tf.zeros((1, LENGTH), tf.int32))
optimizer = keras.optimizers.Adam(3e-3)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(notes):
    with tf.GradientTape() as tape:
        logits = model(notes)[:, :-1]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(notes[:, 1:], logits)
        loss = tf.reduce_mean(losses)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def melodies(n):
    steps = rng.choice([-2, -1, 1, 2, 3], (n, LENGTH - 1))
    return np.cumsum(np.concatenate([rng.integers(0, NOTES, (n, 1)), steps], axis=1), axis=1) % NOTES


for step in range(60):
    loss = train_step(tf.constant(melodies(32), tf.int32))
    if step % 15 == 14:
        print(f"step {step + 1} loss {float(loss):.4f}")
