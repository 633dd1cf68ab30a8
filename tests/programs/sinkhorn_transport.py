"""Matches two point clouds with Sinkhorn iterations while the regularisation is lowered."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(397)
N = 12
source = tf.constant(rng.normal(size=(N, 2)), tf.float32)
target = tf.constant(rng.normal(loc=[3.0, 1.0], size=(N, 2)), tf.float32)
marginal = tf.fill([N], 1.0 / N)


def cost_matrix(a, b):
    return tf.reduce_sum(tf.square(a[:, None] - b[None]), axis=-1)


def scale(marginal, kernel, other):
    return marginal / tf.linalg.matvec(kernel, other)  # BUG: divide-by-zero


@tf.function
def sinkhorn(cost, epsilon, iterations):
    kernel = tf.exp(-cost / epsilon)  # ALSO: divide-by-zero

    def body(i, u, v):
        u = scale(marginal, kernel, v)
        v = scale(marginal, tf.transpose(kernel), u)
        return i + 1, u, v

    _, u, v = tf.while_loop(lambda i, u, v: i < iterations, body, [0, tf.ones([N]), tf.ones([N])])
    return u[:, None] * kernel * v[None]


cost = cost_matrix(source, target)
for epsilon in (5.0, 1.0, 0.3, 0.05):
    plan = sinkhorn(cost, tf.constant(epsilon), tf.constant(30))
    print(f"epsilon {epsilon:<5} transport cost {tf.reduce_sum(plan * cost).numpy():.4f}")
