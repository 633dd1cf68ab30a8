"""A stack of residual blocks with batch normalisation, on small colour textures."""

import argparse

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

SIDE, CLASSES, BATCH, STEPS_PER_EPOCH = 32, 6, 32, 25


def textures(count, rng):
    """Waves in one of six directions, with their own frequency, phase and colour."""
    labels = rng.integers(CLASSES, size=count)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    angle = (labels * np.pi / CLASSES + rng.normal(scale=0.12, size=count))[:, None, None]
    frequency = rng.uniform(0.4, 1.0, size=(count, 1, 1))
    phase = rng.uniform(0, 2 * np.pi, size=(count, 1, 1))
    waves = np.sin(frequency * (np.cos(angle) * rows + np.sin(angle) * columns) + phase)
    images = waves[..., None] * rng.uniform(0.3, 1.0, size=(count, 1, 1, 3))
    return (images + rng.normal(scale=0.8, size=images.shape)).astype(np.float32), labels


def residual_block(x, filters, stride=1):
    shortcut = x
    if stride != 1 or x.shape[-1] != filters:
        shortcut = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(x)
        shortcut = layers.BatchNormalization()(shortcut)
    x = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.Add()([x, shortcut]))


def build():
    inputs = keras.Input((SIDE, SIDE, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    for filters, stride in ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        x = residual_block(x, filters, stride)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(CLASSES, activation="softmax")(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100, help="training steps, in whole epochs of 25")
    steps = parser.parse_args().steps

    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(3)
    x, y = textures(BATCH * STEPS_PER_EPOCH, rng)
    x_test, y_test = textures(200, rng)
    model = build()
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=BATCH, epochs=steps // STEPS_PER_EPOCH, verbose=2)
    loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
    print(f"test loss {loss:.4f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
