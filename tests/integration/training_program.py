"""A program whose gradient is above 100 from its first step on, for those who pause it there."""

PROGRAM = """\
import tensorflow as tf

weights = tf.Variable([[1.0], [2.0]], name="weights")
x = tf.constant([[1.0, 2.0], [10.0, 20.0]])


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        y = tf.matmul(x, weights)
        loss = tf.reduce_sum(y * y)
    weights.assign_sub(1e-4 * tape.gradient(loss, weights))
    return loss


for step in range(6):
    print(step, float(train(x)), flush=True)
print("finished", flush=True)
"""
