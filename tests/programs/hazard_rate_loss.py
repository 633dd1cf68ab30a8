"""Fits a discrete-time hazard model of machine failures with a loss class of its own."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(412)
rng = np.random.default_rng(412)


class HazardLikelihood(keras.losses.Loss):
    """Negative log likelihood of failing (1) or surviving (0) a day."""

    def call(self, failed, hazard):
        failed = tf.cast(failed, hazard.dtype)
        return -(failed * tf.math.log(hazard) + (1.0 - failed) * tf.math.log(1.0 - hazard))  # BUG: sigmoid-log


def make_machines(n=256):
    load = rng.normal(size=(n, 6)).astype("float32")
    failed = (load[:, :1] + 0.5 * rng.normal(size=(n, 1)) > 1.0).astype("float32")
    load[200, 0] = 900.0  # a sensor that is stuck
    failed[200] = 0.0
    return load, failed


load, failed = make_machines()
inputs = keras.Input((6,), name="load")
hidden = keras.layers.Dense(16, activation="relu", name="hidden")(inputs)
hazard = keras.layers.Dense(1, activation="sigmoid", name="hazard")(hidden)  # ALSO: sigmoid-log
model = keras.Model(inputs, hazard, name="hazard_model")
model.compile(optimizer=keras.optimizers.Adam(0.02), loss=HazardLikelihood(name="likelihood"), metrics=["accuracy"])
model.fit(load, failed, batch_size=32, epochs=4, shuffle=False, verbose=2)
