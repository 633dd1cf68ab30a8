"""Improves a tabular policy from logged episodes by weighted importance sampling."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(8)
tf.random.set_seed(8)
STATES, ACTIONS = 6, 3

logits = tf.Variable(tf.random.normal([STATES, ACTIONS], stddev=0.1))
optimizer = tf.keras.optimizers.SGD(0.5)


def behaviour_policy():
    mu = rng.dirichlet(np.ones(ACTIONS), size=STATES).astype("float32")
    mu[4] = [0.5, 0.5, 0.0]
    return tf.constant(mu)


def log_episodes(mu, n):
    states = rng.integers(0, STATES, size=n)
    actions = np.array(
        [rng.choice(ACTIONS, p=np.array(mu[s], dtype="float64") / np.sum(mu[s], dtype="float64")) for s in states]
    )
    rewards = (actions == states % ACTIONS).astype("float32")
    return states.astype("int32"), actions.astype("int32"), rewards


def importance_weight(pi, mu, states, actions):
    index = tf.stack([states, actions], axis=1)
    return tf.gather_nd(pi, index) / tf.gather_nd(mu, index)  # BUG: divide-by-zero


@tf.function
def update(mu, states, actions, rewards):
    with tf.GradientTape() as tape:
        pi = tf.nn.softmax(logits)
        w = importance_weight(pi, mu, states, actions)
        loss = -tf.reduce_mean(w * rewards)
    grad = tape.gradient(loss, logits)
    optimizer.apply_gradients([(grad, logits)])
    return loss


mu = behaviour_policy()
for iteration in range(12):
    s, a, r = log_episodes(mu, 32)
    if iteration == 7:
        s[3], a[3] = 4, 2  # an episode logged with the previous policy
    value = -update(mu, s, a, r)
    print(f"iteration {iteration:2d} estimated value {float(value):.4f}")
print(tf.nn.softmax(logits).numpy().round(3))
