"""Trains a small Keras model with the warm-up schedule of the transformer paper."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(313)
rng = np.random.default_rng(313)


class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=40):
        self.d_model = float(d_model)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        decay = tf.math.rsqrt(step)
        warmup = step * self.warmup_steps**-1.5
        return self.d_model**-0.5 * tf.minimum(decay, warmup)


x = rng.normal(size=(200, 8)).astype("float32")
y = x[:, :1] - 2.0 * x[:, 1:2]
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
schedule = WarmupSchedule(64)
model.compile(optimizer=keras.optimizers.Adam(schedule, beta_2=0.98), loss="mse")
history = model.fit(x, y, batch_size=20, epochs=5, verbose=0)
print("losses", [round(v, 4) for v in history.history["loss"]])
print("rate at step 1:", float(schedule(1)), "at step 0:", float(schedule(0)))
