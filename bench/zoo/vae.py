"""A variational autoencoder with a training loop of its own, on pictures of slanted bars."""

import argparse

import numpy as np
import tensorflow as tf

SIDE, CODE, BATCH = 28, 4, 64


def bars(count, rng):
    """Blurred bars of any direction through a point near the middle, between 0 and 1."""
    rows, columns = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    angle = rng.uniform(0, np.pi, size=(count, 1, 1))
    offset = rng.uniform(-5, 5, size=(count, 1, 1))
    distance = rows * np.cos(angle) + columns * np.sin(angle) - offset
    return np.exp(-(distance**2) / 4)[..., None].astype(np.float32)


class VAE(tf.keras.Model):
    def __init__(self):
        super().__init__()
        layer = tf.keras.layers
        self.encoder = tf.keras.Sequential(
            [
                tf.keras.Input((SIDE, SIDE, 1)),
                layer.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
                layer.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
                layer.Flatten(),
                layer.Dense(2 * CODE),
            ]
        )
        self.decoder = tf.keras.Sequential(
            [
                tf.keras.Input((CODE,)),
                layer.Dense(7 * 7 * 32, activation="relu"),
                layer.Reshape((7, 7, 32)),
                layer.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu"),
                layer.Conv2DTranspose(1, 3, strides=2, padding="same"),
            ]
        )

    def losses_of(self, x):
        mean, log_variance = tf.split(self.encoder(x), 2, axis=1)
        code = mean + tf.exp(0.5 * log_variance) * tf.random.normal(tf.shape(mean))
        logits = self.decoder(code)
        pixels = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)
        reconstruction = tf.reduce_mean(tf.reduce_sum(pixels, axis=[1, 2, 3]))
        kl = -0.5 * tf.reduce_sum(1 + log_variance - mean**2 - tf.exp(log_variance), axis=1)
        return reconstruction, tf.reduce_mean(kl)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600, help="training steps")
    steps = parser.parse_args().steps

    tf.keras.utils.set_random_seed(9)
    pictures = bars(4000, np.random.default_rng(9))
    dataset = tf.data.Dataset.from_tensor_slices(pictures).shuffle(4000, seed=9).repeat().batch(BATCH)
    model, optimizer = VAE(), tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(x):
        with tf.GradientTape() as tape:
            reconstruction, kl = model.losses_of(x)
            loss = reconstruction + kl
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return reconstruction, kl

    for step, x in enumerate(dataset.take(steps)):
        reconstruction, kl = train_step(x)
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step}: reconstruction {float(reconstruction):.2f}, kl {float(kl):.2f}")


if __name__ == "__main__":
    main()
