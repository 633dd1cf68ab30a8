"""Samples tokens from fixed logits while the temperature is annealed towards zero."""

import tensorflow as tf

tf.random.set_seed(43)
VOCAB = 10
STEPS = 30


def sharpen(logits, temperature):
    scaled = tf.exp(logits / temperature)  # BUG: softmax-by-hand
    return scaled / tf.reduce_sum(scaled)  # ALSO: softmax-by-hand


def mean_entropy(probs):
    return -tf.reduce_sum(probs * tf.math.log(probs + 1e-12))


@tf.function
def anneal(logits, start, rate):
    entropies = tf.TensorArray(tf.float32, size=STEPS)
    temperature = start
    expected = tf.zeros([])
    for i in tf.range(STEPS):
        probs = sharpen(logits, temperature)
        entropies = entropies.write(i, mean_entropy(probs))
        expected += tf.reduce_sum(probs * tf.range(VOCAB, dtype=tf.float32))
        temperature *= rate
    return entropies.stack(), expected / STEPS, temperature


logits = tf.random.normal([VOCAB], stddev=2.0)
entropies, expected, final = anneal(logits, tf.constant(1.0), tf.constant(0.85))
for i in range(0, STEPS, 5):
    print(f"step {i:2d} entropy {entropies[i].numpy():.4f}")
print(f"final temperature {final.numpy():.5f}")
print("expected token:", expected.numpy())
