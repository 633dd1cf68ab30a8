"""Tags recipe steps with a hand-written attention layer over all ingredients of the recipe."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(821)
rng = np.random.default_rng(821)
WORDS, STEPS, ITEMS, WIDTH, TAGS = 24, 6, 10, 32, 4


class Attend(keras.layers.Layer):
    def __init__(self, heads=4):
        super().__init__()
        self.heads, self.depth = heads, WIDTH // heads
        self.query, self.key, self.value, self.out = (keras.layers.Dense(WIDTH) for _ in range(4))

    def split(self, x):
        return tf.transpose(tf.reshape(x, (-1, x.shape[1], self.heads, self.depth)), (0, 2, 1, 3))

    def call(self, steps, items):
        q, k, v = self.split(self.query(steps)), self.split(self.key(items)), self.split(self.value(items))
        scores = tf.matmul(q, k, transpose_b=True) / self.depth**0.5
        weights = tf.nn.softmax(scores, axis=3)
        mixed = tf.transpose(tf.matmul(weights, v), (0, 2, 1, 3))
        return self.out(tf.reshape(mixed, (-1, STEPS, WIDTH)))


class Tagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH)
        self.attend = Attend()
        self.norm = keras.layers.LayerNormalization()
        self.tags = keras.layers.Dense(TAGS)

    def call(self, inputs):
        steps, items = self.words(inputs[0]), self.words(inputs[1])
        return self.tags(self.norm(steps + self.attend(steps, items)))


def recipes(n):
    items = rng.integers(0, WORDS, (n, ITEMS))
    steps = np.take_along_axis(items, rng.integers(0, ITEMS, (n, STEPS)), axis=1)
    return (steps.astype("int32"), items.astype("int32")), (steps % TAGS).astype("int32")


model = Tagger()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=loss, metrics=["accuracy"])
x, y = recipes(256)
history = model.fit(x, y, batch_size=32, epochs=4, verbose=0)
print("loss by epoch", [round(value, 4) for value in history.history["loss"]])
