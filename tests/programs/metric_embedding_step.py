"""Learns an embedding in which items of one group are close, with a compiled step."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(83)
rng = np.random.default_rng(83)

GROUPS, FEATURES, DIM, BATCH = 5, 10, 6, 24


class Projector(tf.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        init = tf.random.Generator.from_seed(83)
        self.w1 = tf.Variable(init.normal((FEATURES, 32)) * FEATURES**-0.5, name="w1")
        self.b1 = tf.Variable(tf.zeros(32), name="b1")
        self.w2 = tf.Variable(init.normal((32, DIM)) * 32**-0.5, name="w2")

    def __call__(self, x):
        return tf.tanh(x @ self.w1 + self.b1) @ self.w2


def pairwise_distances(points):
    difference = points[:, None, :] - points[None, :, :]
    squared = tf.reduce_sum(difference * difference, axis=-1)
    return tf.sqrt(squared)  # BUG: grad-sqrt-zero


def contrastive_loss(points, group, margin=2.0):
    distance = pairwise_distances(points)
    same = tf.cast(group[:, None] == group[None, :], tf.float32)
    others = 1.0 - tf.eye(BATCH)
    pull = same * distance
    push = (1.0 - same) * tf.nn.relu(margin - distance)
    return tf.reduce_sum(others * (pull + push)) / tf.reduce_sum(others)


def make_items(n=240):
    centres = rng.normal(size=(GROUPS, FEATURES))
    group = rng.integers(0, GROUPS, size=n)
    items = centres[group] + 0.6 * rng.normal(size=(n, FEATURES))
    return items.astype("float32"), group.astype("int32")


def make_train_step(net, rate=0.05, momentum=0.9):
    speed = [tf.Variable(tf.zeros_like(v), trainable=False) for v in net.trainable_variables]

    @tf.function(jit_compile=True)
    def train_step(items, group):
        with tf.GradientTape() as tape:
            loss = contrastive_loss(net(items), group)
        grads = tape.gradient(loss, net.trainable_variables)
        for v, s, g in zip(net.trainable_variables, speed, grads):
            s.assign(momentum * s - rate * g)
            v.assign_add(s)
        return loss

    return train_step


def main():
    items, group = make_items()
    net = Projector(name="projector")
    train_step = make_train_step(net)
    for epoch in range(4):
        order = rng.permutation(len(items))
        for start in range(0, len(items), BATCH):
            rows = order[start : start + BATCH]
            loss = train_step(tf.constant(items[rows]), tf.constant(group[rows]))
        print(f"epoch {epoch}: loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
