"""Distils a teacher into a student with float16 probabilities."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(107)
rng = np.random.default_rng(107)
CLASSES, FEATURES = 5, 8

student = tf.Variable(tf.random.normal([FEATURES, CLASSES], stddev=0.1))
teacher = tf.constant(rng.normal(scale=1.0, size=(FEATURES, CLASSES)), tf.float16)


def teacher_probabilities(x):
    logits = tf.matmul(tf.cast(x, tf.float16), teacher)
    return tf.nn.softmax(logits)  # BUG: half-underflow


def kl_divergence(p, log_q):
    p = tf.cast(p, tf.float32)
    return tf.reduce_mean(tf.reduce_sum(p * (tf.math.log(p) - log_q), axis=1))  # ALSO: half-underflow


@tf.function
def distil(x):
    target = teacher_probabilities(x)
    with tf.GradientTape() as tape:
        log_q = tf.nn.log_softmax(tf.matmul(x, student))
        loss = kl_divergence(target, log_q)
    gradient = tape.gradient(loss, student)
    student.assign_sub(0.1 * gradient)
    return loss


for step in range(10):
    scale = 1.0 if step < 6 else 3.0  # harder examples later in the curriculum
    batch = tf.constant(rng.normal(scale=scale, size=(16, FEATURES)), tf.float32)
    print(f"step {step} kl {distil(batch).numpy():.4f}")
