"""Trains an image retrieval head with generalised-mean pooling of convolution features."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)


class GeMPooling(keras.layers.Layer):
    """Generalised mean over the spatial axes; p is learned."""

    def build(self, input_shape):
        self.p = self.add_weight(name="p", shape=(), initializer=keras.initializers.Constant(3.0))

    def call(self, feature_map):
        powered = tf.pow(feature_map, self.p)
        pooled = tf.reduce_mean(powered, axis=[1, 2])
        return tf.pow(pooled, 1.0 / self.p)  # BUG: grad-pow-zero


def make_images(n=64):
    labels = rng.integers(0, 3, size=n)
    images = rng.uniform(0.1, 1.0, size=(n, 8, 8, 1)) * (1 + labels[:, None, None, None])
    images[44] = 0.0  # a black frame
    return images.astype("float32"), labels


inputs = keras.Input((8, 8, 1))
x = keras.layers.Conv2D(6, 3, activation="relu", kernel_initializer=keras.initializers.RandomUniform(0.01, 0.2))(inputs)
x = GeMPooling()(x)
outputs = keras.layers.Dense(3)(x)
model = keras.Model(inputs, outputs)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
images, labels = make_images()
for epoch in range(3):
    history = model.fit(images, labels, batch_size=8, shuffle=False, verbose=0)
    print(f"epoch {epoch} loss {history.history['loss'][0]:.4f}")
print("p =", float(model.layers[2].p))
