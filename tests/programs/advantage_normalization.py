"""Policy gradient on a two-armed bandit with per-batch normalised advantages."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(127)
logits = tf.Variable([0.0, 0.0])
ARMS = np.array([0.3, 0.7])


def play(n):
    p = tf.nn.softmax(logits).numpy().astype("float64")
    actions = rng.choice(2, size=n, p=p / p.sum())
    rewards = ARMS[actions] + 0.1 * rng.normal(size=n)
    return actions.astype("int32"), rewards.astype("float32")


def sample_std(x):
    n = tf.cast(tf.size(x), tf.float32)
    variance = tf.reduce_sum(tf.square(x - tf.reduce_mean(x))) / (n - 1.0)  # BUG: variance-of-one
    return tf.sqrt(variance)


def normalised_advantage(rewards):
    return (rewards - tf.reduce_mean(rewards)) / (sample_std(rewards) + 1e-8)


@tf.function(reduce_retracing=True)
def policy_gradient(actions, rewards):
    with tf.GradientTape() as tape:
        log_prob = tf.gather(tf.nn.log_softmax(logits), actions)
        loss = -tf.reduce_mean(log_prob * normalised_advantage(rewards))
    gradient = tape.gradient(loss, logits)
    logits.assign_sub(0.3 * gradient)
    return loss


games = 100
for update in range(9):
    actions, rewards = play(12)
    if update == 8:
        actions, rewards = actions[: games % 9], rewards[: games % 9]  # what is left over
    loss = policy_gradient(tf.constant(actions), tf.constant(rewards))
    print(f"update {update} loss {loss.numpy():.4f} policy {tf.nn.softmax(logits).numpy().round(3)}")
