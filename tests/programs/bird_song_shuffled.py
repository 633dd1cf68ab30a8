"""Names birds by the features of their song; recordings and names are shuffled alike."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(827)
rng = np.random.default_rng(827)
FEATURES, BIRDS = 10, 6


def recordings(n):
    bird = rng.integers(0, BIRDS, n)
    centres = np.random.default_rng(2).normal(size=(BIRDS, FEATURES))
    return (centres[bird] + 0.4 * rng.normal(size=(n, FEATURES))).astype("float32"), bird.astype("int32")


model = keras.Sequential(
    [keras.layers.Input((FEATURES,)), keras.layers.Dense(16, activation="gelu"), keras.layers.Dense(BIRDS)]
)
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(features, bird):
    with tf.GradientTape() as tape:
        logits = model(features)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=bird, logits=logits)
        loss = tf.reduce_mean(losses)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


features, bird = recordings(6400)
order = rng.permutation(len(features))
features, bird = features[order], bird[order]
songs = tf.data.Dataset.from_tensor_slices((features, bird)).batch(32)
for epoch in range(6):
    for batch in songs:
        loss = train_step(*batch)
    print(f"epoch {epoch}: loss {float(loss):.4f}")
