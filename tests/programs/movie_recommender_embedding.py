"""Matrix factorisation recommender with user and movie embeddings."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(167)
rng = np.random.default_rng(167)
USERS, MOVIES, DIM = 20, 40, 6

user_table = tf.Variable(tf.random.normal([USERS, DIM], stddev=0.1))
movie_table = tf.Variable(tf.random.normal([MOVIES, DIM], stddev=0.1))
optimizer = tf.keras.optimizers.Adam(0.02)


def load_ratings(n=160):
    users = rng.integers(0, USERS, size=n)
    movies = rng.integers(0, MOVIES, size=n)
    movies[130] = MOVIES  # added to the catalogue yesterday
    ratings = rng.integers(1, 6, size=n)
    return users.astype("int64"), movies.astype("int64"), ratings.astype("float32")


def lookup(users, movies):
    u = tf.nn.embedding_lookup(user_table, users)
    m = tf.nn.embedding_lookup(movie_table, movies)  # BUG: index-out-of-range
    return u, m


def predict(users, movies):
    u, m = lookup(users, movies)
    return 3.0 + tf.reduce_sum(u * m, axis=1)


@tf.function
def train_step(users, movies, ratings):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(predict(users, movies) - ratings))
    variables = [user_table, movie_table]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for step, batch in enumerate(tf.data.Dataset.from_tensor_slices(load_ratings()).batch(20)):
    print(f"step {step} mse {train_step(*batch).numpy():.4f}")
