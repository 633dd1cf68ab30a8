"""Grades essays with a model class of its own, and measures it on essays that were held out."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(818)
rng = np.random.default_rng(818)
WORDS, LENGTH, WIDTH, GRADES = 40, 24, 32, 4


class Grader(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH)
        self.attention = keras.layers.MultiHeadAttention(2, WIDTH // 2)
        self.dropout = keras.layers.Dropout(0.4)
        self.norm = keras.layers.LayerNormalization()
        self.grades = keras.layers.Dense(GRADES)

    def call(self, ids, training=False):
        x = self.words(ids)
        x = self.norm(x + self.dropout(self.attention(x, x), training=training))
        return self.grades(tf.reduce_mean(x, axis=1))


def essays(n):
    grade = rng.integers(0, GRADES, n)
    ids = rng.integers(0, WORDS, (n, LENGTH))
    ids[:, ::3] = grade[:, None] + 4 * rng.integers(0, 3, (n, 1))
    return ids.astype("int32"), grade.astype("int32")


model = Grader()
model(essays(2)[0])
optimizer = keras.optimizers.Adam(3e-3)
optimizer.build(model.trainable_variables)
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(ids, grade):
    with tf.GradientTape() as tape:
        loss = cross_entropy(grade, model(ids, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def right(ids, grade):
    graded = model(ids, training=True)  # BUG: dropout-in-evaluation
    return tf.reduce_mean(tf.cast(tf.argmax(graded, 1, tf.int32) == grade, tf.float32))


training = tf.data.Dataset.from_tensor_slices(essays(384)).batch(32)
held_out = tf.data.Dataset.from_tensor_slices(essays(96)).batch(32)
for epoch in range(3):
    for ids, grade in training:
        loss = train_step(ids, grade)
    share = np.mean([float(right(ids, grade)) for ids, grade in held_out])
    print(f"epoch {epoch}: loss {float(loss):.4f}, {share:.3f} of those held out")
