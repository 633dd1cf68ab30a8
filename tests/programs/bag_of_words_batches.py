"""Trains a bag-of-words classifier on batches of text with a growing vocabulary."""

import tensorflow as tf

tf.random.set_seed(199)
VOCABULARY = ["good", "bad", "film", "plot", "great", "boring"]
BATCHES = [
    (["good film", "bad plot", "great film"], [1.0, 0.0, 1.0]),
    (["boring plot", "great plot"], [0.0, 1.0]),
    (["good plot", "superb film", "bad film"], [1.0, 1.0, 0.0]),
]

kernel = tf.Variable(tf.random.normal([len(VOCABULARY), 1], stddev=0.1))


def words_of(texts):
    return sorted({w for t in texts for w in t.split()})


def vectorize(texts):
    known = VOCABULARY + [w for w in words_of(texts) if w not in VOCABULARY]
    return tf.constant([[float(t.split().count(w)) for w in known] for t in texts])


def logits(features):
    return tf.squeeze(tf.matmul(features, kernel), axis=1)  # BUG: shape-mismatch


@tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None], tf.float32)])
def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits(features)))
    kernel.assign_sub(0.5 * tape.gradient(loss, kernel))
    return loss


for step, (texts, labels) in enumerate(BATCHES):
    loss = train_step(vectorize(texts), tf.constant(labels))
    print(f"batch {step} loss {loss.numpy():.4f}")
