"""Deep Q-learning on a cart with a pole: acts eagerly, trains in a `tf.function`."""

import argparse
import random
from collections import deque

import numpy as np
import tensorflow as tf

GAMMA, BATCH, WARM_UP, SYNC_EVERY = 0.99, 64, 200, 100


class CartPole:
    """The cart of Barto, Sutton and Anderson: +1 for each step until the pole falls."""

    def __init__(self, rng):
        self.rng = rng
        self.state, self.age = None, 0

    def reset(self):
        self.state, self.age = self.rng.uniform(-0.05, 0.05, size=4), 0
        return self.state.astype(np.float32)

    def step(self, action):
        x, dx, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        pull = (force + 0.05 * spin**2 * np.sin(angle)) / 1.1
        turn = (9.8 * np.sin(angle) - np.cos(angle) * pull) / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
        push = pull - 0.05 * turn * np.cos(angle) / 1.1
        self.state = np.array([x + 0.02 * dx, dx + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn])
        self.age += 1
        fell = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return self.state.astype(np.float32), 1.0, fell, fell or self.age >= 200


def make_network():
    return tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(2),
        ]
    )


class Agent:
    def __init__(self):
        self.network, self.target = make_network(), make_network()
        self.target.set_weights(self.network.get_weights())
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.huber = tf.keras.losses.Huber()

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        return int(np.argmax(self.network(state[None])[0]))

    @tf.function
    def train(self, states, actions, rewards, next_states, falls):
        best = tf.reduce_max(self.target(next_states), axis=1)
        wanted = rewards + GAMMA * (1.0 - falls) * best
        with tf.GradientTape() as tape:
            values = tf.reduce_sum(self.network(states) * tf.one_hot(actions, 2), axis=1)
            loss = self.huber(wanted, values)
        weights = self.network.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss


def sample(memory):
    states, actions, rewards, next_states, falls = zip(*random.sample(memory, BATCH))
    return (
        tf.constant(np.array(states)),
        tf.constant(actions, tf.int32),
        tf.constant(np.array(rewards, np.float32)),
        tf.constant(np.array(next_states)),
        tf.constant(np.array(falls, np.float32)),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000, help="steps of the cart, each with one update")
    steps = parser.parse_args().steps

    random.seed(8)
    tf.keras.utils.set_random_seed(8)
    world, agent = CartPole(np.random.default_rng(8)), Agent()
    memory, scores, score = deque(maxlen=5000), [], 0.0
    state = world.reset()
    for step in range(steps):
        action = agent.act(state, epsilon=max(0.05, 1.0 - step / 1000))
        next_state, reward, fell, ended = world.step(action)
        memory.append((state, action, reward, next_state, fell))
        state, score = next_state, score + reward
        if ended:
            scores.append(score)
            state, score = world.reset(), 0.0
        if len(memory) >= WARM_UP:
            agent.train(*sample(memory))
        if step % SYNC_EVERY == 0:
            agent.target.set_weights(agent.network.get_weights())
    print(f"{len(scores)} episodes, first ten {np.mean(scores[:10]):.1f}, last ten {np.mean(scores[-10:]):.1f}")


if __name__ == "__main__":
    main()
