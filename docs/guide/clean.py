# clean.py
import numpy as np

train, val = dict(np.load("train.npz")), dict(np.load("val.npz"))
train["image"][40:44] /= 255
keep = np.isfinite(train["image"]).all(axis=(1, 2))
train = {name: array[keep] for name, array in train.items()}
for part in (train, val):
    part["label"] -= 1
np.savez("train.npz", **train)
np.savez("val.npz", **{name: array[20:] for name, array in val.items()})
