"""An LSTM that forecasts the next hours of a noisy load curve."""

import argparse

import numpy as np
from tensorflow import keras

WINDOW, AHEAD, BATCH, STEPS_PER_EPOCH = 36, 3, 32, 100


def load_curve(hours, rng):
    """A daily and a weekly rhythm, and slow random changes."""
    time = np.arange(hours)
    rhythm = np.sin(2 * np.pi * time / 24) + 0.5 * np.sin(2 * np.pi * time / 168)
    drift = np.convolve(rng.normal(size=hours), np.ones(24) / 24, mode="same")
    return (rhythm + drift + rng.normal(scale=0.1, size=hours)).astype(np.float32)


def windows(curve):
    starts = np.arange(len(curve) - WINDOW - AHEAD)
    x = np.stack([curve[s : s + WINDOW] for s in starts])
    y = np.stack([curve[s + WINDOW : s + WINDOW + AHEAD] for s in starts])
    return x[..., None], y


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=800, help="training steps, in whole epochs of 100")
    steps = parser.parse_args().steps

    keras.utils.set_random_seed(4)
    curve = load_curve(BATCH * STEPS_PER_EPOCH + WINDOW + AHEAD, np.random.default_rng(4))
    x, y = windows(curve)
    model = keras.Sequential(
        [
            keras.Input((WINDOW, 1)),
            keras.layers.LSTM(48),
            keras.layers.Dense(24, activation="tanh"),
            keras.layers.Dense(AHEAD),
        ]
    )
    model.compile(keras.optimizers.Adam(2e-3), "mse", metrics=["mae"])
    history = model.fit(x, y, batch_size=BATCH, epochs=steps // STEPS_PER_EPOCH, verbose=2)
    print(f"loss {history.history['loss'][0]:.4f} -> {history.history['loss'][-1]:.4f}")


if __name__ == "__main__":
    main()
