"""A small convolutional classifier of drawn shapes in Keras."""

import argparse

import numpy as np
from tensorflow import keras

SIDE, BATCH, STEPS_PER_EPOCH = 28, 32, 100
SHAPES = ("disc", "ring", "square", "cross", "bar")


def draw(shape, x, y, size, grid):
    """One picture of a shape at (x, y), dark on bright."""
    dx, dy = np.abs(grid[1] - x), np.abs(grid[0] - y)
    distance = np.hypot(dx, dy)
    return {
        "disc": distance < size,
        "ring": np.abs(distance - size) < 1.5,
        "square": np.maximum(dx, dy) < size,
        "cross": (np.minimum(dx, dy) < 1.5) & (np.maximum(dx, dy) < size),
        "bar": (dy < 2) & (dx < size),
    }[shape]


def pictures(count, rng):
    """Noisy pictures, and the number of the shape that each shows."""
    grid = np.mgrid[:SIDE, :SIDE]
    labels = rng.integers(len(SHAPES), size=count)
    centres, sizes = rng.uniform(9, 19, size=(count, 2)), rng.uniform(4, 8, size=count)
    drawn = np.stack([draw(SHAPES[k], *c, s, grid) for k, c, s in zip(labels, centres, sizes)])
    noisy = drawn + rng.normal(scale=0.3, size=drawn.shape)
    return noisy[..., None].astype(np.float32), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000, help="training steps, in whole epochs of 100")
    steps = parser.parse_args().steps

    keras.utils.set_random_seed(2)
    rng = np.random.default_rng(2)
    x, y = pictures(BATCH * STEPS_PER_EPOCH, rng)
    x_test, y_test = pictures(500, rng)

    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(len(SHAPES)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    model.fit(x, y, batch_size=BATCH, epochs=steps // STEPS_PER_EPOCH, validation_data=(x_test, y_test), verbose=2)


if __name__ == "__main__":
    main()
