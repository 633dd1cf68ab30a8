"""Trains a GAN on points of a ring with losses computed from logits."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(359)
rng = np.random.default_rng(359)
BATCH, NOISE = 32, 4


def mlp(inputs, outputs):
    return tf.keras.Sequential(
        [
            tf.keras.layers.Input((inputs,)),
            tf.keras.layers.Dense(24, activation="relu"),
            tf.keras.layers.Dense(outputs),
        ]
    )


generator, discriminator = mlp(NOISE, 2), mlp(2, 1)
g_optimizer, d_optimizer = tf.keras.optimizers.Adam(1e-3), tf.keras.optimizers.Adam(1e-3)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


def ring(n):
    angle = rng.uniform(0, 2 * np.pi, size=n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype("float32")


@tf.function
def train_step(real):
    noise = tf.random.normal([BATCH, NOISE])
    with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
        fake = generator(noise, training=True)
        real_logit, fake_logit = discriminator(real), discriminator(fake)
        g_loss = bce(tf.ones_like(fake_logit), fake_logit)
        d_loss = bce(tf.ones_like(real_logit), real_logit) + bce(tf.zeros_like(fake_logit), fake_logit)
    g_grads = g_tape.gradient(g_loss, generator.trainable_variables)
    d_grads = d_tape.gradient(d_loss, discriminator.trainable_variables)
    g_optimizer.apply_gradients(zip(g_grads, generator.trainable_variables))
    d_optimizer.apply_gradients(zip(d_grads, discriminator.trainable_variables))
    return g_loss, d_loss


for step in range(60):
    g_loss, d_loss = train_step(ring(BATCH))
    if step % 20 == 19:
        print(f"step {step + 1} g_loss {g_loss.numpy():.4f} d_loss {d_loss.numpy():.4f}")
