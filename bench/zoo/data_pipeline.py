"""A tf.data pipeline that does most of the work: decodes, augments, shuffles, batches and prefetches pictures."""

import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

SIDE, CROP, CLASSES, BATCH, PICTURES = 40, 32, 4, 32, 1600
STEPS_PER_EPOCH = PICTURES // BATCH


def encoded_pictures(rng):
    """PNG files in memory: waves of four lengths, in any colour and direction."""
    labels = rng.integers(CLASSES, size=PICTURES)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    angle = rng.uniform(0, np.pi, size=(PICTURES, 1, 1))
    frequency = (0.35 * 1.6 ** labels.astype(float))[:, None, None]
    waves = np.sin(frequency * (np.cos(angle) * rows + np.sin(angle) * columns))
    images = 128 + 80 * waves[..., None] * rng.uniform(0.4, 1.0, size=(PICTURES, 1, 1, 3))
    images += rng.normal(scale=15, size=images.shape)
    files = [tf.io.encode_png(image).numpy() for image in np.clip(images, 0, 255).astype(np.uint8)]
    return files, labels


def decode(file, label):
    image = tf.io.decode_png(file, channels=3)
    image.set_shape([SIDE, SIDE, 3])
    return tf.image.convert_image_dtype(image, tf.float32), label


def augment(number, picture):
    """Change a picture at random; the seed is its number, so that each run of the program is the same."""
    image, label = picture
    seed = tf.stack([tf.cast(number, tf.int32), 11])
    image = tf.image.stateless_random_crop(image, [CROP, CROP, 3], seed)
    image = tf.image.stateless_random_flip_left_right(image, seed)
    image = tf.image.stateless_random_brightness(image, 0.1, seed)
    image = tf.image.stateless_random_contrast(image, 0.8, 1.2, seed)
    image = tf.image.stateless_random_saturation(image, 0.8, 1.2, seed)
    return tf.clip_by_value(image, 0.0, 1.0), label


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500, help="training steps, in whole epochs of 50")
    steps = parser.parse_args().steps

    keras.utils.set_random_seed(11)
    files, labels = encoded_pictures(np.random.default_rng(11))
    dataset = (
        tf.data.Dataset.from_tensor_slices((files, labels))
        .shuffle(PICTURES, seed=11)
        .map(decode, num_parallel_calls=tf.data.AUTOTUNE)
        .enumerate()
        .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = keras.Sequential(
        [
            keras.Input((CROP, CROP, 3)),
            keras.layers.Conv2D(16, 5, strides=2, activation="relu"),
            keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(CLASSES, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(dataset, epochs=steps // STEPS_PER_EPOCH, verbose=2)


if __name__ == "__main__":
    main()
