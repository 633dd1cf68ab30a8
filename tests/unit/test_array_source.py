"""The line that computed an array with NumPy or pandas: found by names, from the line that fed it."""

from __future__ import annotations

import textwrap

import pytest

from tensorsleuth.diagnose.nan.array_source import array_sources

FOUND = {
    "name": """
        ratio = a / b  # bad
        x = ratio[:, 1:]
        train(tf.constant(x))  # fed
        """,
    "column": """
        df["rate"] = df["hits"] / df["shown"]  # bad
        model.fit(df.values, y)  # fed
        """,
    "in place": """
        x = load()
        x /= x.max()  # bad
        model.fit(x)  # fed
        """,
    "element": """
        x = np.ones(3)
        x[1] = np.nan  # bad
        f(tf.constant(x))  # fed
        """,
    "function": """
        def rates(a, b):
            return a / b  # bad

        def main():
            x = rates(hits, shown)
            f(tf.constant(x))  # fed
        """,
    "parameter": """
        def train(x):
            f(tf.constant(x))  # fed

        logs = np.log(counts)  # bad
        train(logs)
        """,
    "nearest": """
        shares = counts / counts.sum()
        weights = shares / counts  # bad
        loss = tf.reduce_sum(losses * weights)  # fed
        """,
    "taken apart": """
        def split(x, y):
            cut = len(x) // batch
            return (x[:cut], y[:cut]), x[cut:]

        means = prices.rolling(window=2).mean()  # bad
        (x_train, y_train), rest = split(prices, means)
        model.fit(x_train, y_train)  # fed
        """,
    "pair": """
        x, y = prices, prices.shift(1)  # bad
        model.fit(x, y)  # fed
        """,
    "file": """
        cars = pd.read_csv(path)  # bad
        model.fit(cars[["a", "b"]].values, cars["c"])  # fed
        """,
    "loop": """
        tables = np.sqrt(raw)  # bad
        for batch in tables:
            step(batch)  # fed
        """,
}
NOT_FOUND = {
    "place": "at = total / n\nx = load()[: int(at)]\nf(x)  # fed",
    "size": "x = load()\ny = make(x.shape[0] / 2)\nz = raw[: y]\nf(z)  # fed",
    "rest": "n -= n % batch\nx = load(n)\nf(x)  # fed",
    "cleaned": "x = pd.read_csv(path).dropna()\nf(x)  # fed",
    "cleaned later": "x = prices.shift(1)\ny = x.fillna(0.0)\nf(y)  # fed",
    "scaled by a number": "x = raw / 255.0\nf(x)  # fed",
    "file": "x = np.load('x.npy')\nf(x)  # fed",
    "of TensorFlow": "x = tf.math.log(y)\nf(x)  # fed",
    "text": "x = load('%d.npy' % number)\nf(x)  # fed",
    "another name": "z = a / b\nx = load()\nf(x)  # fed",
    "only below": "f(x)  # fed\nx = a / b",
    "no Python": "f(x  # fed",
}


def line_of(text: str, mark: str) -> int:
    (line,) = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {mark}")]
    return line


@pytest.mark.parametrize("kind", FOUND)
def test_the_line_that_can_make_it_is_found(kind: str) -> None:
    text = textwrap.dedent(FOUND[kind])
    (found,) = array_sources(text, line_of(text, "fed"))
    assert found.line == line_of(text, "bad")
    assert "# bad" not in found.code and found.code == found.code.strip()


@pytest.mark.parametrize("kind", NOT_FOUND)
def test_no_line_is_guessed(kind: str) -> None:
    assert array_sources(NOT_FOUND[kind], line_of(NOT_FOUND[kind], "fed")) == []


def test_each_name_of_a_line_has_its_own() -> None:
    text = "x = np.log(raw)\ny = prices.shift(1)\nmodel.fit(x, y)"
    assert [one.line for one in array_sources(text, 3)] == [1, 2]


def test_names_that_go_in_circles_come_to_an_end() -> None:
    assert array_sources("def f(x):\n    return f(x)\nx = f(x)\ny = x\nx = y\ng(x)", 6) == []
