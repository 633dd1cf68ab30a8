"""Compares half-precision image embeddings by their energy and cosine."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(97)
DIM = 512
# a fixed random projection standing in for a pretrained backbone
PROJECTION = tf.constant(rng.normal(scale=0.5, size=(64, DIM)), tf.float16)


def embed(images):
    return tf.nn.relu(tf.matmul(tf.cast(images, tf.float16), PROJECTION))


def energy(embedding):
    return tf.reduce_sum(tf.square(embedding), axis=1)  # BUG: sum-overflow


def normalize(embedding):
    return embedding / tf.sqrt(energy(embedding))[:, None]


def similarity(a, b):
    return tf.matmul(normalize(a), normalize(b), transpose_b=True)


def make_images(n, brightness):
    return rng.uniform(0, brightness, size=(n, 64)).astype("float32")


gallery = make_images(8, 1.0)
gallery[5] *= 12.0  # one image stayed in another brightness range
queries = gallery[:4] + rng.normal(scale=0.05, size=(4, 64)).astype("float32")

database = embed(gallery)
print("gallery energy:", energy(database).numpy())
scores = similarity(embed(queries), database)
for i, row in enumerate(scores.numpy()):
    print(f"query {i}: best match {row.argmax()} score {row.max():.3f}")
whitened = tf.math.log(energy(database)) - tf.reduce_mean(tf.math.log(energy(database)))
print("log energy, centred:", whitened.numpy())
