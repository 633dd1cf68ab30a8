"""Trains a variational auto-encoder with a custom train_step on random vectors."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)
LATENT = 2


def kl_divergence(mean, log_var):
    variance = tf.exp(log_var)  # BUG: exp-overflow
    return -0.5 * tf.reduce_sum(1.0 + log_var - tf.square(mean) - variance, axis=1)


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.layers.Dense(2 * LATENT)
        self.decoder = keras.layers.Dense(6)

    def call(self, x):
        mean, log_var = tf.split(self.encoder(x), 2, axis=1)
        noise = tf.random.normal(tf.shape(mean), seed=1)
        z = mean + noise * 0.1
        return self.decoder(z), mean, log_var

    def train_step(self, x):
        with tf.GradientTape() as tape:
            reconstruction, mean, log_var = self(x)
            rec_loss = tf.reduce_mean(tf.reduce_sum(tf.square(x - reconstruction), axis=1))
            kl_loss = tf.reduce_mean(kl_divergence(mean, log_var))
            loss = rec_loss + kl_loss
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss, "rec": rec_loss, "kl": kl_loss}


def load_vectors(n=96):
    x = rng.normal(size=(n, 6)).astype("float32")
    x[64] *= 150.0  # never standardised
    return x


data = tf.data.Dataset.from_tensor_slices(load_vectors()).batch(16)
vae = VAE()
vae.compile(optimizer=keras.optimizers.Adam(1e-3))
history = vae.fit(data, epochs=2, verbose=2)
print("kl:", history.history["kl"])
