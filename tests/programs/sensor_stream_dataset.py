"""Trains an anomaly autoencoder on a generator of sensor windows."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(179)
WIDTH = 12


def sensor_windows():
    rng = np.random.default_rng(179)
    for i in range(96):
        phase = rng.uniform(0, 2 * np.pi)
        window = np.sin(np.linspace(0, 6, WIDTH) + phase) + rng.normal(scale=0.05, size=WIDTH)
        if i == 53:
            window[4] = np.nan  # how the driver reports a dropout
        yield window.astype("float32")


def make_dataset():
    spec = tf.TensorSpec([WIDTH], tf.float32)
    dataset = tf.data.Dataset.from_generator(sensor_windows, output_signature=spec)  # BUG: nan-in-data
    return dataset.map(lambda w: w - tf.reduce_mean(w)).batch(8)


encoder = tf.keras.layers.Dense(4, activation="tanh")
decoder = tf.keras.layers.Dense(WIDTH)
optimizer = tf.keras.optimizers.Adam(0.01)


def reconstruct(x):
    return decoder(encoder(x))


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(reconstruct(x) - x))
    variables = encoder.trainable_variables + decoder.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def main():
    encoder.build((None, WIDTH))
    decoder.build((None, 4))
    optimizer.build(encoder.trainable_variables + decoder.trainable_variables)
    for step, batch in enumerate(make_dataset()):  # ALSO: nan-in-data
        print(f"step {step:2d} loss {train_step(batch).numpy():.5f}")


main()
