"""A TensorFlow 1 program: placeholders, an Adam optimizer and a session that each step feeds."""

import argparse

import numpy as np
import tensorflow.compat.v1 as tf

INPUTS, HIDDEN, CLASSES, BATCH = 64, 256, 8, 64


def dense(x, units, name, activation=None):
    with tf.variable_scope(name):
        kernel = tf.get_variable("kernel", [x.shape[-1], units], initializer=tf.glorot_uniform_initializer(seed=12))
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        y = tf.matmul(x, kernel) + bias
    return activation(y) if activation is not None else y


def points(count, rng, centres):
    """Points around two centres for each class, so that no line separates the classes."""
    which = rng.integers(len(centres), size=count)
    x = centres[which] + rng.normal(size=(count, INPUTS))
    return x.astype(np.float32), which % CLASSES


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5000, help="training steps")
    steps = parser.parse_args().steps

    tf.disable_eager_execution()
    tf.set_random_seed(12)
    rng = np.random.default_rng(12)
    centres = rng.normal(scale=0.35, size=(2 * CLASSES, INPUTS))
    x_train, y_train = points(20_000, rng, centres)
    x_test, y_test = points(2_000, rng, centres)

    x = tf.placeholder(tf.float32, [None, INPUTS], name="x")
    y = tf.placeholder(tf.int64, [None], name="y")
    keep = tf.placeholder_with_default(1.0, [], name="keep")
    hidden = dense(x, HIDDEN, "hidden1", tf.nn.relu)
    hidden = tf.nn.dropout(hidden, rate=1.0 - keep, seed=12)
    hidden = dense(hidden, HIDDEN, "hidden2", tf.nn.relu)
    logits = dense(hidden, CLASSES, "logits")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, axis=1), y), tf.float32))
    train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(steps):
            batch = rng.integers(len(x_train), size=BATCH)
            feed = {x: x_train[batch], y: y_train[batch], keep: 0.7}
            _, value = session.run([train_op, loss], feed_dict=feed)
            if step % 500 == 0 or step == steps - 1:
                right = session.run(accuracy, feed_dict={x: x_test, y: y_test})
                print(f"step {step}: loss {value:.4f}, test accuracy {right:.3f}")


if __name__ == "__main__":
    main()
