"""Classifies tiles cut from scans, read by a tf.data pipeline, several steps a call."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(51)
rng = np.random.default_rng(51)

SIDE, BATCH, TILES = 12, 16, 256


def make_scans():
    """Grey tiles of 8 bits with stripes that lie or stand."""
    standing = rng.integers(0, 2, size=TILES)
    wave = 90 * np.sin(np.arange(SIDE) * rng.uniform(0.8, 1.6, size=(TILES, 1)))
    tiles = np.where(standing[:, None, None] == 1, wave[:, None, :], wave[:, :, None])
    tiles = 128 + tiles + 12 * rng.normal(size=(TILES, SIDE, SIDE))
    tiles = np.clip(tiles, 0, 255).astype("uint8")
    tiles[[167, 230]] = 255  # the white edge of the paper
    return tiles, standing.astype("float32")


def decode(tile, label):
    image = tf.cast(tile, tf.float32) / 255.0
    return image[..., None], label


def stretch_contrast(image, label):
    """Spreads each tile over 0 to 1."""
    low = tf.reduce_min(image)
    high = tf.reduce_max(image)
    return (image - low) / (high - low), label  # BUG: zero-over-zero


def flip(image, label):
    return tf.image.flip_up_down(image), label


def pipeline(tiles, label):
    data = tf.data.Dataset.from_tensor_slices((tiles, label))
    data = data.map(decode, num_parallel_calls=2).map(stretch_contrast, num_parallel_calls=2)
    data = data.map(flip)
    return data.batch(BATCH, drop_remainder=True).prefetch(2)


def build():
    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(8, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ],
        name="tiles",
    )


def main():
    data = pipeline(*make_scans())
    model = build()
    model.compile(
        optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy", metrics=["accuracy"], steps_per_execution=4
    )
    model.fit(data, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
