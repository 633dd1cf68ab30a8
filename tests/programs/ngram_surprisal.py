"""Scores held-out sentences with a bigram language model estimated from counts."""

import tensorflow as tf

CORPUS = [
    "the cat sat on the mat",
    "the dog sat on the rug",
    "a cat chased the dog",
    "the dog chased a cat on the mat",
]
HELD_OUT = ["the cat sat on the rug", "a dog sat on the mat", "the mat chased a dog"]


def build_vocabulary(sentences):
    words = sorted({w for s in sentences for w in s.split()})
    return {w: i for i, w in enumerate(words)}


def encode(sentence, vocab):
    return tf.constant([vocab[w] for w in sentence.split()], dtype=tf.int32)


def count_bigrams(sentences, vocab):
    counts = tf.Variable(tf.zeros([len(vocab), len(vocab)]))
    for sentence in sentences:
        ids = encode(sentence, vocab)
        pairs = tf.stack([ids[:-1], ids[1:]], axis=1)
        counts.scatter_nd_add(pairs, tf.ones([tf.shape(pairs)[0]]))
    return counts


def transition_probabilities(counts):
    totals = tf.reduce_sum(counts, axis=1, keepdims=True)
    return tf.math.divide_no_nan(counts, totals)


def surprisal(ids, probs):
    pairs = tf.stack([ids[:-1], ids[1:]], axis=1)
    p = tf.gather_nd(probs, pairs)
    return -tf.math.log(p)  # BUG: log-zero


def main():
    vocab = build_vocabulary(CORPUS)
    probs = transition_probabilities(count_bigrams(CORPUS, vocab))
    total, words = 0.0, 0
    for sentence in HELD_OUT:
        bits = surprisal(encode(sentence, vocab), probs)
        total += tf.reduce_sum(bits)
        words += int(tf.size(bits))
        print(f"{sentence!r}: {float(tf.reduce_mean(bits)):.3f} nats/word")
    print("perplexity", float(tf.exp(total / words)))


main()
