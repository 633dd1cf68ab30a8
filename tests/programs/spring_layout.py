"""Lays out a small graph by descending a spring energy on the node positions."""

import tensorflow as tf

tf.random.set_seed(14)
EDGES = tf.constant([[0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5], [5, 3]])
NODES = 6


def edge_lengths(positions):
    start = tf.gather(positions, EDGES[:, 0])
    end = tf.gather(positions, EDGES[:, 1])
    return tf.norm(start - end, axis=1)


def repulsion(positions):
    offsets = positions[:, None, :] - positions[None, :, :]
    distance = tf.norm(offsets, axis=-1)  # BUG: grad-norm-zero
    return tf.reduce_sum(tf.exp(-distance))


def energy(positions):
    springs = tf.reduce_sum(tf.square(edge_lengths(positions) - 1.0))
    return springs + 0.5 * repulsion(positions)


def layout(steps=30, rate=0.05):
    positions = tf.Variable(tf.random.normal([NODES, 2]))
    for step in range(steps):
        with tf.GradientTape() as tape:
            value = energy(positions)
        gradient = tape.gradient(value, positions)
        positions.assign_sub(rate * gradient)
        if step % 10 == 0:
            print(f"step {step:2d} energy {float(value):.4f}")
    return positions


final = layout()
print("energy at the end:", float(energy(final)))
print(final.numpy())
