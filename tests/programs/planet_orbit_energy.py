"""Integrates planetary orbits in SI units and watches the energy drift."""

import tensorflow as tf

G, SUN = 6.674e-11, 1.989e30
MASS = tf.constant([3.3e23, 4.87e24, 5.97e24])
RADIUS = tf.constant([5.79e10, 1.08e11, 1.496e11])
DAY = 86400.0


def acceleration(position):
    distance = tf.norm(position, axis=1, keepdims=True)
    return -(G * SUN) * (position / distance) / tf.square(distance)


def total_energy(position, velocity):
    kinetic = 0.5 * MASS * tf.reduce_sum(tf.square(velocity), axis=1)
    potential = -(G * SUN) / tf.norm(position, axis=1) * MASS
    return tf.reduce_sum((kinetic + potential) / 1e30)


@tf.function
def integrate(position, velocity, steps):
    for _ in tf.range(steps):
        velocity = velocity + 0.5 * DAY * acceleration(position)
        position = position + DAY * velocity
        velocity = velocity + 0.5 * DAY * acceleration(position)
    return position, velocity


position = tf.stack([RADIUS, tf.zeros(3)], axis=1)
speed = tf.sqrt(G * SUN / RADIUS)
velocity = tf.stack([tf.zeros(3), speed], axis=1)
start = total_energy(position, velocity)
for quarter in range(4):
    position, velocity = integrate(position, velocity, tf.constant(90))
    drift = (total_energy(position, velocity) - start) / start
    print(f"day {90 * (quarter + 1)} relative energy drift {drift.numpy():.2e}")
