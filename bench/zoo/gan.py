"""A GAN in Keras with two optimizers and a `train_step` of its own: draws blurred spots."""

import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SIDE, NOISE, BATCH, STEPS_PER_EPOCH = 16, 32, 32, 50


def spots(count, rng):
    """Pictures of one bright spot each, between -1 and 1."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    y, x = rng.uniform(5, 11, size=(2, count, 1, 1))
    width = rng.uniform(2, 3, size=(count, 1, 1))
    bright = np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / (2 * width**2))
    return (2 * bright - 1)[..., None].astype(np.float32)


def make_generator():
    return keras.Sequential(
        [
            keras.Input((NOISE,)),
            layers.Dense(4 * 4 * 64),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Reshape((4, 4, 64)),
            layers.Conv2DTranspose(32, 4, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
        ]
    )


def make_discriminator():
    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(32, 4, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Conv2D(64, 4, strides=2, padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(1),
        ]
    )


class GAN(keras.Model):
    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = make_generator(), make_discriminator()
        self.g_loss = keras.metrics.Mean(name="g_loss")
        self.d_loss = keras.metrics.Mean(name="d_loss")

    def compile(self, g_optimizer, d_optimizer, loss):
        super().compile()
        self.g_optimizer, self.d_optimizer, self.loss_fn = g_optimizer, d_optimizer, loss

    @property
    def metrics(self):
        return [self.g_loss, self.d_loss]

    def train_step(self, real):
        count = tf.shape(real)[0]
        fake = self.generator(tf.random.normal([count, NOISE]), training=True)
        labels = tf.concat([0.9 * tf.ones([count, 1]), tf.zeros([count, 1])], axis=0)
        with tf.GradientTape() as tape:
            guesses = self.discriminator(tf.concat([real, fake], axis=0), training=True)
            d_loss = self.loss_fn(labels, guesses)
        weights = self.discriminator.trainable_variables
        self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights))

        with tf.GradientTape() as tape:
            fake = self.generator(tf.random.normal([count, NOISE]), training=True)
            g_loss = self.loss_fn(tf.ones([count, 1]), self.discriminator(fake, training=True))
        weights = self.generator.trainable_variables
        self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights))

        self.d_loss.update_state(d_loss)
        self.g_loss.update_state(g_loss)
        return {metric.name: metric.result() for metric in self.metrics}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500, help="training steps, in whole epochs of 50")
    steps = parser.parse_args().steps

    keras.utils.set_random_seed(7)
    pictures = spots(BATCH * STEPS_PER_EPOCH, np.random.default_rng(7))
    dataset = tf.data.Dataset.from_tensor_slices(pictures).shuffle(len(pictures), seed=7).batch(BATCH)
    gan = GAN()
    gan.compile(
        g_optimizer=keras.optimizers.Adam(3e-4, beta_1=0.5),
        d_optimizer=keras.optimizers.Adam(2e-4, beta_1=0.5),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
    )
    gan.fit(dataset, epochs=steps // STEPS_PER_EPOCH, verbose=2)
    drawn = gan.generator(tf.random.normal([200, NOISE])).numpy()
    print(f"mean brightness: drawn {drawn.mean():.3f}, real {pictures.mean():.3f}")
    print(f"distance of the mean picture: {np.abs(drawn.mean(axis=0) - pictures.mean(axis=0)).mean():.3f}")


if __name__ == "__main__":
    main()
