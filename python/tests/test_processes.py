"""Processes, threads and Ctrl-C."""

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import TEXT, need

import citree


def heads(nlp: citree.Pipeline) -> list[int]:
    return [word.head for word in nlp(TEXT).sentences[0]]


def cited(sentence: citree.Sentence) -> str:
    return sentence.words[4].explain(k=3).attachment.citations[0].sent_id


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_parser_goes_to_other_processes(nlp: citree.Pipeline, method: str) -> None:
    # Its threads are running here, and a forked child does not have them.
    expected, sentence = heads(nlp), nlp(TEXT).sentences[0]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(heads, [nlp] * 4).get(timeout=60) == [expected] * 4
        assert pool.map_async(cited, [sentence] * 2).get(timeout=60) == [cited(sentence)] * 2


def test_a_parser_with_weights_goes_to_other_processes(bundle: Path) -> None:
    nlp = citree.load(bundle, rule="sum", weights={"treebank": 2.0})
    assert heads(pickle.loads(pickle.dumps(nlp))) == heads(nlp)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_uses_the_parser_that_it_inherits(nlp: citree.Pipeline) -> None:
    expected = heads(nlp)
    child = os.fork()
    if child == 0:
        os._exit(0 if heads(nlp) == expected and cited(nlp(TEXT).sentences[0]) else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_what_was_parsed_is_pickled_with_the_same_numbers(nlp: citree.Pipeline, folder: Path) -> None:
    doc = nlp(citree.read_conllu(folder / "dev.conllu"))
    copy = pickle.loads(pickle.dumps(doc))
    assert copy.to_conllu(scores=True) == doc.to_conllu(scores=True)
    assert [[w.head_prob for w in s] for s in copy] == [[w.head_prob for w in s] for s in doc]
    edge = doc[0].words[0].explain(k=2)
    assert str(pickle.loads(pickle.dumps(edge))) == str(edge)
    plain = citree.read_conllu(folder / "dev.conllu")[0]
    assert pickle.loads(pickle.dumps(plain)).to_conllu() == plain.to_conllu()


def test_the_environment_is_left_as_it_was(nlp: citree.Pipeline) -> None:
    assert "CANDLE_NUM_THREADS" not in os.environ


def test_threads_share_a_parser(nlp: citree.Pipeline) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: heads(nlp), range(12))) == [heads(nlp)] * 12


def test_other_threads_run_while_a_long_call_does(nlp: citree.Pipeline) -> None:
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    nlp("\n".join([TEXT] * 400))
    took = time.monotonic() - start
    done.set()
    thread.join()
    # With the interpreter lock held, there would be none in the middle half.
    assert any(start + took / 4 < at < start + took * 3 / 4 for at in ticks)


def test_results_do_not_depend_on_the_number_of_threads(bundle: Path, folder: Path) -> None:
    doc = citree.read_conllu(folder / "dev.conllu")
    one, two = (citree.load(bundle, threads=threads)(doc).to_conllu(scores=True) for threads in (1, 2))
    assert one == two


INTERRUPTED = """
import sys, time, citree
nlp = citree.load(sys.argv[1])
texts = ["She reads the old letters in the garden."] * 200_000
# Every head of every word is compared with every training edge: minutes for one sentence.
slow = citree.load(sys.argv[1], rule="sum", exact=True)
words = ["She", "reads", "old", "letters"] * 150
slow_sentence = citree.document._restore(slow, *nlp(words)[0]._state())
if sys.argv[2] == "commit":
    # A minute and more to encode and index.
    gold, more = open("train.conllu").read(), []
    for copy in range(100):
        more.append(gold.replace("# sent_id = ", f"# sent_id = copy-{copy}-"))
    evidence = slow.evidence.add("".join(more))
print("ready", flush=True)
try:
    if sys.argv[2] == "commit":
        evidence.commit()
    elif sys.argv[2] == "parse":
        nlp("\\n".join(texts), lines=True)
    elif sys.argv[2] == "sentence":
        slow(words)
    elif sys.argv[2] == "explain":
        slow_sentence.explain(k=3)
    elif sys.argv[2] == "neighbours":
        slow.neighbors(nlp(words))
    elif sys.argv[2] == "vectors":
        citree.EdgeVectors(slow).transform(nlp(words))
    elif sys.argv[2] == "read":
        citree.read_conllu("1\\tHi\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n" * 3_000_000)
    elif sys.argv[2] == "pipe":
        for doc in nlp.pipe(texts): pass
    else:
        citree.train("train.conllu", "dev.conllu", sys.argv[3], preset="demo", epochs=10_000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("what", ["parse", "pipe", "train", "sentence", "explain", "neighbours", "vectors", "read"])
def test_ctrl_c_ends_a_long_call(bundle: Path, folder: Path, tmp_path: Path, what: str) -> None:
    arguments = [sys.executable, "-c", INTERRUPTED, str(bundle), what, str(tmp_path / "new.citree")]
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert out == "interrupted\n"


def test_ctrl_c_while_evidence_is_committed_leaves_it_as_it_was(bundle: Path, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.citree"
    shutil.copytree(bundle, copy)
    before = citree.load(copy).evidence
    test_ctrl_c_ends_a_long_call(copy, folder, tmp_path, "commit")
    after = citree.load(copy).evidence
    assert (after.log(), after.segments()) == (before.log(), before.segments())


def test_training_takes_word_vectors_and_leaves_a_trained_bundle_alone(folder: Path, tmp_path: Path) -> None:
    files, out = (folder / "train.conllu", folder / "dev.conllu"), tmp_path / "new.citree"
    (tmp_path / "vectors.txt").write_text("it 0.1 0.2 0.3\nrained 0.3 0.2 0.1\n")
    nlp = citree.train(*files, out, preset="demo", epochs=1, word_vectors=tmp_path / "vectors.txt")
    expected = {"source": "vectors.txt", "words": 2, "dims": 3}
    assert nlp.info()["pretrained"]["word_vectors"] == expected
    with pytest.raises(citree.BundleError, match="trained"):
        citree.train(*files, out, preset="demo", epochs=1, word_vectors=tmp_path / "vectors.txt")
    assert citree.load(out).info()["pretrained"]["word_vectors"] == expected
    with pytest.raises(citree.CitreeError, match=r"train\.conllu"):
        citree.train(*files, tmp_path / "bad.citree", preset="demo", word_vectors=folder / "train.conllu")


def test_a_progress_function_that_fails_ends_the_call_with_its_error(folder: Path, tmp_path: Path) -> None:
    def fail(what: str, done: int, total: int) -> None:
        raise LookupError(what)

    with pytest.raises(LookupError):
        citree.train(folder / "train.conllu", folder / "dev.conllu", tmp_path / "new.citree", preset="demo", progress=fail)


def test_what_happens_goes_to_the_logger(own: citree.Pipeline, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="citree"):
        nlp = citree.load(own.path)
        citree.train(folder / "train.conllu", folder / "dev.conllu", tmp_path / "new.citree", preset="demo", epochs=1)
        citree.audit(nlp, top=1, folds=0)
        nlp.evidence.remove(nlp.index[0].sent_id).commit()
    messages = " | ".join(record.getMessage() for record in caplog.records if record.name == "citree")
    for part in ("opened ", "heads epoch 1: loss ", "audit of ", "1 removed"):
        assert part in messages, messages


def test_progress_is_a_bar_of_tqdm(nlp: citree.Pipeline, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("tqdm")
    citree.audit(nlp, folder / "dev.conllu", top=1, folds=0, progress=True)
    assert "judging: 100%" in capsys.readouterr().err
