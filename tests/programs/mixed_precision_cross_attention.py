"""Matches captions to images with cross attention under the mixed_float16 policy, loss scaling and all."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(415)
rng = np.random.default_rng(415)
keras.mixed_precision.set_global_policy("mixed_float16")
TOKENS, DIM = 6, 32


class CrossAttention(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.query = keras.layers.Dense(DIM, name="query")
        self.key = keras.layers.Dense(DIM, name="key")

    def call(self, caption, image):
        scores = tf.einsum("btd,bsd->bts", self.query(caption), self.key(image))  # BUG: half-overflow
        weights = tf.nn.softmax(scores / DIM**0.5)
        return tf.matmul(weights, image)


caption = keras.Input((TOKENS, DIM), name="caption")
image = keras.Input((TOKENS, DIM), name="image")
read = CrossAttention(name="read")(caption, image)
pooled = keras.layers.GlobalAveragePooling1D(name="pooled")(read)
match = keras.layers.Dense(1, dtype="float32", name="match")(pooled)
model = keras.Model([caption, image], match, name="matcher")
model.compile(optimizer=keras.optimizers.Adam(0.001), loss=keras.losses.BinaryCrossentropy(from_logits=True))

captions = rng.normal(size=(64, TOKENS, DIM)).astype("float32")
images = rng.normal(size=(64, TOKENS, DIM)).astype("float32")
images[50] *= 900.0  # 0 … 255 and then some, never scaled
captions[50] *= 60.0
labels = rng.integers(0, 2, size=(64, 1)).astype("float32")
history = model.fit([captions, images], labels, batch_size=8, epochs=2, shuffle=False, verbose=0)
print("loss by epoch", history.history["loss"])
