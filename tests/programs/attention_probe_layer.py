"""A Keras layer that keeps its last attention maps for a plot, in a model that is trained eagerly."""

import keras
import tensorflow as tf

keras.utils.set_random_seed(4)


class ProbedAttention(keras.layers.Layer):
    def __init__(self, size):
        super().__init__()
        self.query = keras.layers.Dense(size)
        self.key = keras.layers.Dense(size)
        self.maps = []

    def call(self, inputs):
        scores = tf.matmul(self.query(inputs), self.key(inputs), transpose_b=True)
        weights = tf.nn.softmax(scores)  # ALSO: kept-tensors
        self.maps.append(weights)  # BUG: kept-tensors
        return tf.matmul(weights, inputs)


inputs = keras.Input([48, 8])
model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(ProbedAttention(8)(inputs))))
model.compile(optimizer="adam", loss="mse", run_eagerly=True)
x = tf.random.normal([160, 48, 8])
history = model.fit(x, tf.reduce_mean(x, axis=(1, 2)), batch_size=16, epochs=3, verbose=0)
print(f"loss {history.history['loss'][-1]:.4f}")
