"""A small classifier with a layer of its own, in the graph mode of Keras 2."""

import numpy as np
import tensorflow as tf
import tf_keras as keras

tf.compat.v1.disable_v2_behavior()
keras.utils.set_random_seed(3)
rng = np.random.RandomState(3)

counts = rng.poisson(9.0, size=(256, 8)).astype("float32")
labels = (counts.sum(axis=1, keepdims=True) > 72).astype("float32")


class LogCounts(keras.layers.Layer):
    def call(self, inputs):
        return tf.math.log(inputs)  # BUG: log-zero


inputs = keras.Input((8,))
hidden = keras.layers.Dense(16, activation="relu")(LogCounts()(inputs))
model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(hidden))
model.compile("adam", "binary_crossentropy")
counts[130, 2] = 0.0  # one shop that sold nothing that day
history = model.fit(counts, labels, batch_size=32, epochs=2, verbose=0, shuffle=False)
print("loss", history.history["loss"])
