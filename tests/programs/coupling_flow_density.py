"""Fits a density on the plane with a stack of affine coupling layers."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(41)
rng = np.random.default_rng(41)


class AffineCoupling(tf.keras.layers.Layer):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = tf.keras.Sequential(
            [
                tf.keras.layers.Dense(16, activation="relu"),
                tf.keras.layers.Dense(2, kernel_initializer=tf.keras.initializers.RandomNormal(stddev=0.3)),
            ]
        )

    def call(self, x):
        a, b = tf.split(x, 2, axis=1)
        if self.flip:
            a, b = b, a
        log_scale, shift = tf.split(self.net(a), 2, axis=1)
        b = b * tf.exp(log_scale) + shift  # BUG: exp-overflow
        y = tf.concat([b, a] if self.flip else [a, b], axis=1)
        return y, tf.squeeze(log_scale, 1)


layers = [AffineCoupling(i % 2 == 1) for i in range(4)]
optimizer = tf.keras.optimizers.Adam(0.002)


def negative_log_likelihood(x):
    log_det = tf.zeros([tf.shape(x)[0]])
    for layer in layers:
        x, ld = layer(x)
        log_det += ld
    prior = -0.5 * tf.reduce_sum(tf.square(x), axis=1) - np.log(2 * np.pi)
    return -tf.reduce_mean(prior + log_det)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        nll = negative_log_likelihood(x)
    variables = [v for layer in layers for v in layer.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(nll, variables), variables))
    return nll


for step in range(15):
    t = rng.uniform(0, np.pi, size=64)
    moons = np.stack([3 * np.cos(t), 3 * np.sin(t)], 1) + rng.normal(scale=0.1, size=(64, 2))
    if step == 9:
        moons[5:9] *= 80.0  # a file in millimetres
    nll = train_step(tf.constant(moons, tf.float32))
    print(f"step {step:2d} nll {nll.numpy():.4f}")
