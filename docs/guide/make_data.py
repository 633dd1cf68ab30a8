# make_data.py
"""Photographs of 8 by 8 pixels, one corner of each is lit; the label says which."""

import numpy as np

random = np.random.default_rng(7)


def photographs(rows):
    label = random.integers(0, 4, rows)
    image = random.random((rows, 8, 8), dtype=np.float32) * 0.3
    for one, corner in zip(image, label):
        y, x = 4 * (corner // 2), 4 * (corner % 2)
        one[y : y + 4, x : x + 4] += 0.7
    return image, label


image, label = photographs(600)
image[300] = 0.1  # taken with the lens cap on
val_image, val_label = photographs(100)
val_image[:20], val_label[:20] = image[:20], label[:20]  # split after the rows had been copied
image[40:44] *= 255  # a folder that was never scaled
image[7, 2, 5] = np.nan  # a dead pixel
np.savez("train.npz", image=image, label=label + 1)  # a tool that counts from 1
np.savez("val.npz", image=val_image, label=val_label + 1)
