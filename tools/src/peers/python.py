"""The Python side of `cargo xtask peers python`: answers questions in JSON lines, or times one opening."""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

start = time.perf_counter()
import citree  # noqa: E402

IMPORTED = time.perf_counter() - start


def parse(nlp: citree.Pipeline, text: str) -> int:
    """Parses one sentence and reads its tree."""
    return sum(word.head for sentence in nlp(text, lines=True).sentences for word in sentence.words)


def main() -> None:
    bundle, threads = sys.argv[1], int(sys.argv[2])
    start = time.perf_counter()
    nlp = citree.load(bundle, threads=threads)
    opened = time.perf_counter() - start
    print(json.dumps({"import": IMPORTED, "open": opened}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        start = time.perf_counter()
        if asked["workers"] == 1:
            heads = sum(parse(nlp, text) for text in asked["texts"])
        else:
            with ThreadPoolExecutor(asked["workers"]) as pool:
                heads = sum(pool.map(lambda text: parse(nlp, text), asked["texts"]))
        print(json.dumps({"seconds": time.perf_counter() - start, "heads": heads}), flush=True)


main()
