"""Small models of fastText and floret, and the vectors that they themselves give to words.

    pip install fasttext-wheel floret numpy
    python tools/reference/word_vectors.py

Writes values/word_vectors/: `grams.bin`, `grams.floret`, and `grams.json` with the vectors of words that are in the models and of
words that are not.
"""

import json
import random
import struct
import tempfile
from pathlib import Path

import fasttext
import floret

TO = Path(__file__).parent / "values" / "word_vectors"
WORDS = "the old letters lie in garden şehir evlerimizden köyü".split()
ASKED = [*WORDS, "</s>", "kitchen", "evlerden", "a", "é", "", "letter", "日本", "x" * 40]
DIMS, BUCKETS = 4, 30


def numbers(count: int) -> list[float]:
    return [round(random.uniform(-1, 1), 4) for _ in range(count)]


def main() -> None:
    random.seed(1)
    TO.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text("".join(" ".join(random.choice(WORDS) for _ in range(8)) + "\n" for _ in range(50)))
        settings = {"dim": DIMS, "minCount": 1, "epoch": 1, "thread": 1, "bucket": BUCKETS}
        trained = fasttext.train_unsupervised(str(corpus), minn=2, maxn=4, **settings)
        trained.save_model(str(TO / "grams.bin"))
        # So little training leaves nearly equal vectors. Random ones tell hashes apart.
        data = bytearray((TO / "grams.bin").read_bytes())
        rows = len(trained.get_words()) + BUCKETS
        start = data.index(struct.pack("<?qq", False, rows, DIMS)) + 17
        values = struct.pack(f"<{rows * DIMS}f", *numbers(rows * DIMS))
        data[start : start + len(values)] = values
        (TO / "grams.bin").write_bytes(data)
        model = fasttext.load_model(str(TO / "grams.bin"))
        expected = {"bin": {word: [float(value) for value in model.get_word_vector(word)] for word in ASKED}}

        settings |= {"epoch": 60, "lr": 0.5}
        model = floret.train_unsupervised(str(corpus), mode="floret", hashCount=2, minn=2, maxn=3, **settings)
        model.save_floret_vectors(str(TO / "grams.floret"))
        expected["floret"] = {word: [float(value) for value in model.get_word_vector(word)] for word in ASKED}
    (TO / "grams.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


main()
