"""A dense classifier in Keras, with the progress bar on: steps of less than a millisecond."""

import argparse

import numpy as np
from tensorflow import keras

BATCH, STEPS_PER_EPOCH = 32, 500


def sensor_readings(count, rng, prototypes):
    """Noisy readings of 128 sensors, each like that of one of 16 machines."""
    labels = rng.integers(len(prototypes), size=count)
    readings = prototypes[labels] + rng.normal(scale=3.0, size=(count, prototypes.shape[1]))
    return readings.astype(np.float32), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5000, help="training steps, in whole epochs of 500")
    steps = parser.parse_args().steps

    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    prototypes = rng.normal(size=(16, 128))
    x, y = sensor_readings(BATCH * STEPS_PER_EPOCH, rng, prototypes)
    x_test, y_test = sensor_readings(2000, rng, prototypes)

    model = keras.Sequential(
        [
            keras.Input((128,)),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(16, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.SGD(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=BATCH, epochs=steps // STEPS_PER_EPOCH)
    loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
    print(f"test loss {loss:.4f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
