"""Fits a mixture density network to a noisy inverse problem."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(53)
rng = np.random.default_rng(53)
COMPONENTS = 3


def make_data(n=200):
    y = rng.uniform(-1, 1, size=(n, 1))
    x = y + 0.3 * np.sin(2 * np.pi * y) + rng.normal(scale=0.02, size=(n, 1))
    y[160] = 14.0  # mistyped measurement
    return x.astype("float32"), y.astype("float32")


net = tf.keras.Sequential(
    [
        tf.keras.layers.Input((1,)),
        tf.keras.layers.Dense(16, activation="tanh"),
        tf.keras.layers.Dense(3 * COMPONENTS),
    ]
)
optimizer = tf.keras.optimizers.Adam(0.005)


def mixture_parameters(output):
    logits, means, raw_scale = tf.split(output, 3, axis=1)
    return tf.nn.log_softmax(logits), means, 0.3 + 0.5 * tf.nn.sigmoid(raw_scale)


def component_log_prob(y, means, scales):
    z = (y - means) / scales
    return -0.5 * tf.square(z) - tf.math.log(scales) - 0.5 * np.log(2 * np.pi)


def mixture_nll(output, y):
    log_weights, means, scales = mixture_parameters(output)
    joint = log_weights + component_log_prob(y, means, scales)
    log_prob = tf.math.log(tf.reduce_sum(tf.exp(joint), axis=1))  # BUG: logsumexp-by-hand
    return -tf.reduce_mean(log_prob)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = mixture_nll(net(x), y)
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    return loss


for step, (xb, yb) in enumerate(tf.data.Dataset.from_tensor_slices(make_data()).batch(20)):
    print(f"step {step} nll {train_step(xb, yb).numpy():.4f}")
