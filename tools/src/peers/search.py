"""Runs the libraries from PyPI for `cargo xtask peers search`: `serve` answers JSON lines, `first` times a first answer.

Only the call of the library is timed, not reading rows, starting Python or talking to the driver.
"""

import json
import sys
import time

import numpy as np

COUNT = 10


class Hnswlib:
    def __init__(self, dims):
        import hnswlib

        self.dims = dims
        self.index = hnswlib.Index("ip", dims)

    def build(self, rows, degree, effort, threads):
        self.index.init_index(len(rows), ef_construction=effort, M=degree)
        self.index.add_items(rows, num_threads=threads)

    def search(self, queries, effort, threads):
        self.index.set_ef(effort)
        self.index.set_num_threads(threads)
        return self.index.knn_query(queries, k=COUNT, num_threads=threads)[0]

    def save(self, path):
        self.index.save_index(path)

    def load(self, path, _how):
        self.index.load_index(path)


class FaissFlat:
    def __init__(self, dims):
        import faiss

        self.faiss = faiss
        self.index = faiss.IndexFlatIP(dims)

    def build(self, rows, _degree, _effort, threads):
        self.faiss.omp_set_num_threads(threads)
        self.index.add(rows)

    def search(self, queries, _effort, threads):
        self.faiss.omp_set_num_threads(threads)
        return self.index.search(queries, COUNT)[1]

    def save(self, path):
        self.faiss.write_index(self.index, path)

    def load(self, path, how):
        self.index = self.faiss.read_index(path, getattr(self.faiss, how) if how else 0)


class FaissHnsw(FaissFlat):
    def __init__(self, dims):
        super().__init__(dims)
        self.dims = dims

    def build(self, rows, degree, effort, threads):
        self.index = self.faiss.IndexHNSWFlat(self.dims, degree, self.faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = effort
        super().build(rows, degree, effort, threads)

    def search(self, queries, effort, threads):
        self.index.hnsw.efSearch = effort
        return super().search(queries, effort, threads)


class Usearch:
    def __init__(self, dims, dtype):
        from usearch.index import Index

        self.make = lambda **more: Index(ndim=dims, metric="ip", dtype=dtype, **more)
        self.index = self.make()

    def build(self, rows, degree, effort, threads):
        self.index = self.make(connectivity=degree, expansion_add=effort)
        self.index.add(np.arange(len(rows), dtype=np.uint64), rows, threads=threads)

    def search(self, queries, effort, threads):
        self.index.expansion_search = effort
        return self.index.search(queries, COUNT, threads=threads).keys

    def save(self, path):
        self.index.save(path)

    def load(self, path, _how):
        self.index.view(path)


class UsearchInt8(Usearch):
    """Rows rounded with one common scale. USearch's own rounding scales by the length of a row and has a much lower recall."""

    def __init__(self, dims):
        super().__init__(dims, "i8")
        self.scale = 127.0

    def build(self, rows, degree, effort, threads):
        self.scale = 127 / np.abs(rows).max()
        super().build(self.rounded(rows), degree, effort, threads)

    def search(self, queries, effort, threads):
        return super().search(self.rounded(queries), effort, threads)

    def rounded(self, rows):
        return np.clip(np.rint(rows * self.scale), -127, 127).astype(np.int8)


LIBRARIES = {
    "hnswlib": Hnswlib,
    "faiss-hnsw": FaissHnsw,
    "faiss-flat": FaissFlat,
    "usearch-f32": lambda dims: Usearch(dims, "f32"),
    "usearch-f16": lambda dims: Usearch(dims, "f16"),
    "usearch-i8": UsearchInt8,
}


def seconds_of(call):
    started = time.perf_counter()
    answer = call()
    return time.perf_counter() - started, answer


def serve(name, dims):
    library = LIBRARIES[name](dims)
    queries = None
    for line in sys.stdin:
        ask = json.loads(line)
        if ask["do"] == "build":
            rows = np.fromfile(ask["rows"], dtype="<f4").reshape(-1, dims)
            queries = np.fromfile(ask["queries"], dtype="<f4").reshape(-1, dims)
            build = lambda: library.build(rows, ask["degree"], ask["effort"], ask["threads"])
            seconds, _ = seconds_of(build)
            del rows
            saving, _ = seconds_of(lambda: library.save(ask["save"])) if ask["save"] else (0.0, None)
            reply = {"seconds": seconds, "saving": saving}
        else:
            part = queries[ask["from"] : ask["to"]]
            seconds, found = seconds_of(lambda: library.search(part, ask["effort"], ask["threads"]))
            ids = np.asarray(found).astype(np.int64)
            # Invalid rows, such as FAISS's -1 for a missing neighbour, become the number that the driver expects.
            ids[(ids < 0) | (ids >= 2**32)] = 2**32 - 1
            reply = {"seconds": seconds, "ids": ids.reshape(-1).tolist()}
        print(json.dumps(reply), flush=True)


def first(name, dims, path, queries, how):
    library = LIBRARIES[name](dims)
    query = np.fromfile(queries, dtype="<f4", count=dims).reshape(1, dims)

    def answer():
        library.load(path, how)
        library.search(query, 64, 1)

    print(json.dumps({"seconds": seconds_of(answer)[0]}))


if __name__ == "__main__":
    what, name, dims, *rest = sys.argv[1:]
    if what == "serve":
        serve(name, int(dims))
    else:
        first(name, int(dims), *rest)
