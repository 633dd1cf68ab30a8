"""Groups answers of a survey; everybody said something."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(919)
rng = np.random.default_rng(919)
WORDS, LENGTH, WIDTH, GROUPS = 40, 10, 32, 3


def answers(n):
    group = rng.integers(0, GROUPS, n)
    ids = rng.integers(8, WORDS, (n, LENGTH))
    ids[:, 0:2] = group[:, None] + 3
    lengths = rng.integers(3, LENGTH + 1, n)
    lengths[rng.random(n) < BLANK] = 0
    ids[np.arange(LENGTH)[None] >= lengths[:, None]] = 0
    return ids.astype("int32"), group.astype("int32")


BLANK = 0.0
ids = keras.Input((LENGTH,), dtype="int32")
x = keras.layers.Embedding(WORDS, WIDTH, mask_zero=True)(ids)
x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(2, WIDTH // 2)(x, x))
x = keras.layers.GlobalAveragePooling1D()(x)
model = keras.Model(ids, keras.layers.Dense(GROUPS)(x))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices(answers(512)).batch(32)
history = model.fit(data, epochs=2, verbose=0)
print("accuracy by epoch", [round(one, 3) for one in history.history["accuracy"]])
