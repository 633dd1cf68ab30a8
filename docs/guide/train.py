# train.py
import numpy as np
import tensorflow as tf

import tensorsleuth
from tensorsleuth import Schema, expect


def stretched(image, label):
    """The darkest pixel 0, the brightest 1."""
    low, high = tf.reduce_min(image), tf.reduce_max(image)
    return (image - low) / (high - low), label


train = np.load("train.npz")
schema = Schema.load("schema.toml")
dataset = tf.data.Dataset.from_tensor_slices((train["image"], train["label"])).map(stretched)
batches = dataset.apply(tensorsleuth.checked(schema)).batch(50)

hidden = tf.Variable(tf.random.stateless_normal([64, 16], [1, 2]) / 8, name="hidden")
output = tf.Variable(tf.random.stateless_normal([16, 4], [3, 4]) / 4, name="output")
tensorsleuth.watch("variable:.*", what="norm")


@tf.function
def train_step(image, label):
    with tf.GradientTape() as tape:
        layer = tf.nn.relu(tf.reshape(image, [-1, 64]) @ hidden)
        share = expect(tf.nn.softmax(layer @ output, axis=0), sums_to=1, name="share")
        loss = -tf.reduce_mean(tf.math.log(tf.gather(share, label, batch_dims=1)))
    for variable, gradient in zip([hidden], tape.gradient(loss, [hidden, output])):
        variable.assign_sub(0.1 * gradient)
    return loss


for epoch in range(3):
    for image, label in batches:
        loss = train_step(image, label)
    tensorsleuth.log("epoch {epoch}: loss {loss:.1f}", epoch=epoch, loss=loss)
