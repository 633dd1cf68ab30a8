"""Embeds a small tree in the Poincare disc."""

import tensorflow as tf

tf.random.set_seed(79)
PARENT = [0, 0, 0, 1, 1, 2, 2]
NODES = len(PARENT)


def project(x, limit=1.0):  # ALSO: out-of-domain
    norm = tf.norm(x, axis=-1, keepdims=True)
    return tf.where(norm > limit, x / norm * limit, x)


def mobius_add(x, y):
    xy = tf.reduce_sum(x * y, -1, keepdims=True)
    x2 = tf.reduce_sum(x * x, -1, keepdims=True)
    y2 = tf.reduce_sum(y * y, -1, keepdims=True)
    return ((1 + 2 * xy + y2) * x + (1 - x2) * y) / (1 + 2 * xy + x2 * y2 + 1e-7)


def hyperbolic_distance(x, y):
    gap = tf.sqrt(tf.reduce_sum(tf.square(mobius_add(-x, y)), -1) + 1e-12)
    return 2.0 * tf.atanh(tf.minimum(gap, 1.0))  # BUG: out-of-domain


def tree_loss(points):
    children = points[1:]
    parents = tf.gather(points, PARENT[1:])
    pull = tf.reduce_mean(hyperbolic_distance(children, parents))
    spread = tf.reduce_mean(tf.reduce_sum(tf.square(points), -1))
    return pull - 4.0 * spread


points = tf.Variable(tf.random.uniform([NODES, 2], -0.1, 0.1))
for step in range(60):
    with tf.GradientTape() as tape:
        loss = tree_loss(points)
    gradient = tape.gradient(loss, points)
    points.assign(project(points - 0.1 * gradient))
    if step % 6 == 5:
        radius = tf.reduce_max(tf.norm(points, axis=1))
        print(f"step {step + 1:2d} loss {float(loss):.4f} max radius {float(radius):.6f}")
