"""Trains a small GAN on tiny grey-scale images."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(59)
rng = np.random.default_rng(59)
BATCH, PIXELS, NOISE = 16, 36, 4

generator = tf.keras.Sequential(
    [
        tf.keras.layers.Input((NOISE,)),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(PIXELS),
    ]
)
discriminator = tf.keras.Sequential(
    [
        tf.keras.layers.Input((PIXELS,)),
        tf.keras.layers.Dense(16, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
g_optimizer = tf.keras.optimizers.Adam(0.03)
d_optimizer = tf.keras.optimizers.Adam(2e-4)


def real_images():
    levels = rng.uniform(0.2, 0.8, size=(BATCH, 1))
    return np.clip(levels + rng.normal(scale=0.1, size=(BATCH, PIXELS)), 0, 1).astype("float32")


def discriminate(x):
    return tf.sigmoid(discriminator(x))  # ALSO: sigmoid-log


def discriminator_loss(real_prob, fake_prob):
    return -tf.reduce_mean(tf.math.log(real_prob) + tf.math.log(1.0 - fake_prob))  # BUG: sigmoid-log


def generator_loss(fake_prob):
    return tf.reduce_mean(1.0 - fake_prob)


@tf.function
def train_step(real, noise):
    with tf.GradientTape(persistent=True) as tape:
        fake = generator(noise)
        real_prob, fake_prob = discriminate(real), discriminate(fake)
        d_loss = discriminator_loss(real_prob, fake_prob)
        g_loss = generator_loss(fake_prob)
    d_grads = tape.gradient(d_loss, discriminator.trainable_variables)
    g_grads = tape.gradient(g_loss, generator.trainable_variables)
    d_optimizer.apply_gradients(zip(d_grads, discriminator.trainable_variables))
    g_optimizer.apply_gradients(zip(g_grads, generator.trainable_variables))
    return d_loss, g_loss


for step in range(60):
    noise = rng.normal(size=(BATCH, NOISE)).astype("float32")
    d_loss, g_loss = train_step(real_images(), noise)
    if step % 5 == 4:
        print(f"step {step + 1:3d} d_loss {d_loss.numpy():.4f} g_loss {g_loss.numpy():.4f}")
