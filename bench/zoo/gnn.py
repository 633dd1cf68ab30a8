"""A graph network by gather and segment sums: finds the group of each node of a random graph."""

import argparse

import numpy as np
import tensorflow as tf

NODES, GROUPS, FEATURES, HIDDEN = 1200, 4, 16, 64


def random_graph(rng):
    """Edges that are five times as likely inside of a group, and features that say little by themselves."""
    groups = rng.integers(GROUPS, size=NODES)
    same = groups[:, None] == groups[None, :]
    linked = np.triu(rng.random((NODES, NODES)) < np.where(same, 0.02, 0.004), k=1)
    source, target = np.nonzero(linked | linked.T)
    centres = rng.normal(scale=0.3, size=(GROUPS, FEATURES))
    features = centres[groups] + rng.normal(size=(NODES, FEATURES))
    return features.astype(np.float32), source.astype(np.int32), target.astype(np.int32), groups


class GraphLayer(tf.Module):
    """Each node takes the mean of its neighbours' messages, and adds what it makes of itself."""

    def __init__(self, inputs, outputs):
        super().__init__()
        limit = (6 / (inputs + outputs)) ** 0.5
        self.message = tf.Variable(tf.random.uniform([inputs, outputs], -limit, limit), name="message")
        self.own = tf.Variable(tf.random.uniform([inputs, outputs], -limit, limit), name="own")
        self.bias = tf.Variable(tf.zeros([outputs]), name="bias")

    def __call__(self, x, source, target, degree):
        sent = tf.gather(tf.matmul(x, self.message), source)
        received = tf.math.unsorted_segment_sum(sent, target, NODES) / degree
        return received + tf.matmul(x, self.own) + self.bias


class GraphNetwork(tf.Module):
    def __init__(self):
        super().__init__()
        self.first = GraphLayer(FEATURES, HIDDEN)
        self.second = GraphLayer(HIDDEN, HIDDEN)
        self.last = GraphLayer(HIDDEN, GROUPS)

    def __call__(self, x, *edges, dropout=0.0):
        x = tf.nn.dropout(tf.nn.relu(self.first(x, *edges)), dropout)
        x = tf.nn.dropout(tf.nn.relu(self.second(x, *edges)), dropout)
        return self.last(x, *edges)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600, help="training steps, each on the whole graph")
    steps = parser.parse_args().steps

    tf.random.set_seed(10)
    rng = np.random.default_rng(10)
    features, source, target, groups = random_graph(rng)
    degree = np.maximum(np.bincount(target, minlength=NODES), 1).astype(np.float32)[:, None]
    x, labels = tf.constant(features), tf.constant(groups)
    edges = tf.constant(source), tf.constant(target), tf.constant(degree)
    train_mask = tf.constant(rng.random(NODES) < 0.5)
    model, optimizer = GraphNetwork(), tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step():
        with tf.GradientTape() as tape:
            logits = tf.boolean_mask(model(x, *edges, dropout=0.5), train_mask)
            known = tf.boolean_mask(labels, train_mask)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=known, logits=logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def accuracy():
        right = tf.equal(tf.argmax(model(x, *edges), axis=1), labels)
        return tf.reduce_mean(tf.cast(tf.boolean_mask(right, ~train_mask), tf.float32))

    for step in range(steps):
        loss = train_step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step}: loss {float(loss):.4f}, held-out accuracy {float(accuracy()):.3f}")


if __name__ == "__main__":
    main()
