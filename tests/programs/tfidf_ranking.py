"""Ranks a few documents for a query by tf-idf cosine score."""

import tensorflow as tf

DOCUMENTS = [
    "neural networks learn representations",
    "gradient descent trains neural networks",
    "bread needs flour water and yeast",
    "slow gradient of a hill",
]
# a fixed vocabulary shipped with the application
VOCABULARY = [
    "neural",
    "networks",
    "gradient",
    "descent",
    "bread",
    "flour",
    "yeast",
    "hill",
    "transformer",
    "slow",
    "learn",
    "water",
]


def term_counts(text):
    tokens = tf.strings.split(text)
    table = tf.constant(VOCABULARY)
    hits = tf.equal(tokens[:, tf.newaxis], table[tf.newaxis, :])
    return tf.reduce_sum(tf.cast(hits, tf.float32), axis=0)


def inverse_document_frequency(counts):
    n_docs = tf.cast(tf.shape(counts)[0], tf.float32)
    df = tf.reduce_sum(tf.cast(counts > 0, tf.float32), axis=0)
    return tf.math.log(n_docs / df)  # BUG: divide-by-zero


def tfidf_matrix(counts, idf):
    return counts * idf


def rank(query, counts, idf):
    matrix = tfidf_matrix(counts, idf)
    q = tfidf_matrix(term_counts(query)[tf.newaxis], idf)
    scores = tf.linalg.matvec(tf.math.l2_normalize(matrix, axis=1), tf.squeeze(tf.math.l2_normalize(q, axis=1), 0))
    return tf.argsort(scores, direction="DESCENDING"), scores


counts = tf.stack([term_counts(d) for d in DOCUMENTS])
idf = inverse_document_frequency(counts)
for query in ["gradient descent", "bread and water"]:
    order, scores = rank(query, counts, idf)
    print(query, "->", DOCUMENTS[int(order[0])])
    print("   scores", scores.numpy())
