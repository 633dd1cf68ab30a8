"""Trains a Wasserstein critic with gradient penalty on two-dimensional data."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
BATCH = 16

critic = tf.keras.Sequential(
    [
        tf.keras.layers.Input((2,)),
        tf.keras.layers.Dense(4, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
generator = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(2)])
critic_optimizer = tf.keras.optimizers.Adam(1e-3)


def real_samples():
    angle = rng.uniform(0, 2 * np.pi, size=BATCH)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype("float32")


def gradient_penalty(real, fake):
    mix = tf.random.uniform([BATCH, 1])
    between = mix * real + (1.0 - mix) * fake
    with tf.GradientTape() as inner:
        inner.watch(between)
        scores = critic(between, training=True)
    slopes = inner.gradient(scores, between)
    norm = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=1))  # BUG: grad-sqrt-zero
    return tf.reduce_mean(tf.square(norm - 1.0))


@tf.function
def critic_step(real, noise):
    fake = generator(noise)
    with tf.GradientTape() as tape:
        wasserstein = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
        loss = wasserstein + 10.0 * gradient_penalty(real, fake)
    grads = tape.gradient(loss, critic.trainable_variables)
    critic_optimizer.apply_gradients(zip(grads, critic.trainable_variables))
    return loss, wasserstein


for step in range(12):
    noise = tf.random.normal([BATCH, 2])
    loss, wasserstein = critic_step(real_samples(), noise)
    print(f"step {step:2d} critic loss {loss.numpy():8.4f}  wasserstein {wasserstein.numpy():8.4f}")
