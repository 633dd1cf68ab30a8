"""Forecasts tomorrow's temperature from a CSV text with Keras fit."""

import csv
import io

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(173)
rng = np.random.default_rng(173)


def write_csv(days=120):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["day", "temperature", "wind"])
    for day in range(days):
        temperature = 10 + 8 * np.sin(day / 20) + rng.normal()
        writer.writerow([day, f"{temperature:.1f}" if day != 77 else "", f"{rng.uniform(0, 9):.1f}"])
    return out.getvalue()


def read_csv(text):
    reader = csv.DictReader(io.StringIO(text))
    rows = [[float(r["temperature"] or "nan"), float(r["wind"])] for r in reader]  # ALSO: nan-in-data
    return np.array(rows, dtype="float32")


def windows(table, width=5):
    x = np.stack([table[i : i + width].ravel() for i in range(len(table) - width)])
    return x / 10.0, table[width:, 0]


x, y = windows(read_csv(write_csv()))
model = keras.Sequential([keras.layers.Input((10,)), keras.layers.Dense(12, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = model.fit(x, y, batch_size=23, epochs=3, shuffle=False, verbose=2)  # BUG: nan-in-data
print("mse by epoch:", history.history["loss"])
print("forecast:", model.predict(x[-1:], verbose=0)[0, 0])
