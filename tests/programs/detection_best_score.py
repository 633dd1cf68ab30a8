"""Ranks images by the best detection score above a threshold."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(197)
THRESHOLD = 0.5


def detect(image_id):
    """A fake detector: box scores for one image."""
    boxes = rng.integers(4, 12)
    scores = rng.beta(2, 2, size=boxes).astype("float32")
    if image_id == 6:
        scores *= 0.4  # a foggy picture
    return tf.constant(scores)


def best_score(scores):
    kept = tf.boolean_mask(scores, scores > THRESHOLD)
    return tf.reduce_max(kept)  # BUG: empty-tensor


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def confidence(scores):
    best = best_score(scores)
    return tf.math.log(best) - tf.math.log1p(-best)


def main():
    values = []
    for image_id in range(10):
        value = confidence(detect(image_id))
        values.append(value)
        print(f"image {image_id} confidence {value.numpy():.3f}")
    stacked = tf.stack(values)
    z = (stacked - tf.reduce_mean(stacked)) / tf.math.reduce_std(stacked)
    print("normalised:", z.numpy().round(2))


main()
