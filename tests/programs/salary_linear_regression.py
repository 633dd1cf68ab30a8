"""Plain linear regression by gradient descent on unscaled features."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(139)
LEARNING_RATE = 0.01  # BUG: learning-rate

years = rng.uniform(0, 40, size=100).astype("float32")
education = rng.integers(8, 22, size=100).astype("float32")
salary = (1200 + 90 * years + 40 * education + rng.normal(scale=50, size=100)).astype("float32")

X = tf.stack([years, education], axis=1)
y = tf.constant(salary)
w = tf.Variable(tf.zeros([2, 1]))
b = tf.Variable(0.0)


def predict(x):
    return tf.squeeze(tf.matmul(x, w), axis=1) + b


def mse(prediction, target):
    return tf.reduce_mean(tf.square(prediction - target))


def gradient_descent_step():
    with tf.GradientTape() as tape:
        loss = mse(predict(X), y)
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(LEARNING_RATE * dw)  # ALSO: learning-rate
    b.assign_sub(LEARNING_RATE * db)  # ALSO: learning-rate
    return loss


for step in range(60):
    loss = gradient_descent_step()
    if step % 6 == 0:
        print(f"step {step:2d} loss {float(loss):.4g}")
print("weights", w.numpy().ravel(), "bias", b.numpy())
