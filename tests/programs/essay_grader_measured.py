"""Grades essays with a Transformer block, and measures itself on other essays without dropout after each pass."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(824)
rng = np.random.default_rng(824)
WORDS, LENGTH, WIDTH, GRADES = 50, 16, 32, 4


def build():
    ids = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(WORDS, WIDTH)(ids)
    attended = keras.layers.MultiHeadAttention(4, 8, dropout=0.3)(x, x)
    x = keras.layers.LayerNormalization()(x + keras.layers.Dropout(0.4)(attended))
    return keras.Model(ids, keras.layers.Dense(GRADES)(keras.layers.GlobalAveragePooling1D()(x)))


def essays(n):
    grade = rng.integers(0, GRADES, n)
    ids = rng.integers(0, WORDS, (n, LENGTH))
    ids[:, ::3] = grade[:, None] + 4 * rng.integers(0, 3, (n, 1))
    return ids.astype("int32"), grade.astype("int32")


model = build()
optimizer = keras.optimizers.Adam(3e-3)
optimizer.build(model.trainable_variables)
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(ids, grade):
    with tf.GradientTape() as tape:
        loss = cross_entropy(grade, model(ids, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def validation_step(ids, grade):
    logits = model(ids, training=False)
    accuracy.update_state(grade, logits)
    return cross_entropy(grade, logits)


training = tf.data.Dataset.from_tensor_slices(essays(384)).batch(32)
held_out = tf.data.Dataset.from_tensor_slices(essays(96)).batch(32)
for epoch in range(3):
    for ids, grade in training:
        loss = train_step(ids, grade)
    accuracy.reset_state()
    losses = [float(validation_step(ids, grade)) for ids, grade in held_out]
    print(f"epoch {epoch}: loss {float(loss):.4f} held out {np.mean(losses):.4f} {float(accuracy.result()):.3f}")
