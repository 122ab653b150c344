"""The same numbers as the command line, to the last digit."""

import json
import subprocess
import urllib.request
from pathlib import Path

from conftest import command, program

import citree


def test_parses_are_those_of_the_command(nlp: citree.Pipeline, folder: Path, bundle: Path) -> None:
    expected = command("parse", bundle, folder / "dev.conllu", "--scores").stdout
    doc = citree.read_conllu(folder / "dev.conllu")
    assert nlp(doc).to_conllu(scores=True) == expected
    text = [sentence.text for sentence in doc]
    expected = command("parse", bundle, "--lines", text="\n".join(text)).stdout
    assert "".join(doc.to_conllu() for doc in nlp.pipe(text, lines=True)) == expected
    expected = command("parse", bundle, "--text", text=" ".join(text)).stdout
    assert nlp(" ".join(text)).to_conllu() == "".join(
        line for line in expected.splitlines(keepends=True) if not line.startswith("# sent_id")
    )


def test_explanations_are_those_of_the_command(nlp: citree.Pipeline, folder: Path, bundle: Path) -> None:
    lines = command("explain", bundle, folder / "dev.conllu", "--format", "json", "--count", "4").stdout.splitlines()
    sentences = nlp(citree.read_conllu(folder / "dev.conllu")).sentences
    assert len(lines) == len(sentences) > 50
    for sentence, line in zip(sentences, lines, strict=True):
        expected = json.loads(line)
        assert [word.head for word in sentence] == expected["heads"]
        assert [word.deprel for word in sentence] == expected["labels"]
        assert [[word.head_prob, word.label_prob] for word in sentence] == expected["probabilities"]
        for edge, other in zip(sentence.explain(k=4), expected["edges"], strict=True):
            for own, its in ((edge.attachment, other["attachment"]), (edge.labelling, other["labelling"])):
                assert (own.score, own.probability) == (its["score"], its["probability"])
                for side in ("citations", "against"):
                    cited = [(c.edge, c.sent_id, c.similarity, c.share, c.margin_share) for c in getattr(own, side)]
                    keys = ("edge", "sent_id", "similarity", "share", "margin_share")
                    assert cited == [tuple(c[key] for key in keys) for c in its[side]]
                assert own.coverage.score == its["coverage"]["score"]


def test_neighbours_are_those_of_the_command(nlp: citree.Pipeline, folder: Path, bundle: Path) -> None:
    lines = command("neighbors", bundle, folder / "dev.conllu", "--gold", "--count", "3").stdout.splitlines()
    found = nlp.neighbors(citree.read_conllu(folder / "dev.conllu"), k=3, gold=True)
    assert len(lines) == len(found.ids)
    for line, ids, similarities in zip(lines, found.ids, found.similarities, strict=True):
        neighbors = json.loads(line)["neighbors"]
        assert [neighbor["edge"] for neighbor in neighbors] == ids.tolist()
        assert [neighbor["similarity"] for neighbor in neighbors] == [float(str(s)) for s in similarities]


def test_answers_are_those_of_the_server(nlp: citree.Pipeline, folder: Path, bundle: Path) -> None:
    arguments = [*program(), "serve", str(bundle), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as server:
        try:
            address = server.stdout.readline().strip()
            for sentence in citree.read_conllu(folder / "dev.conllu")[:12]:
                asked = {"conllu": sentence.to_conllu(), "count": 3, "by": ["label", "document"]}
                request = urllib.request.Request(
                    f"{address}v1/explain", json.dumps(asked).encode(), {"content-type": "application/json"}
                )
                with urllib.request.urlopen(request, timeout=60) as response:
                    (expected,) = json.load(response)["sentences"]
                (own,) = nlp(sentence).sentences
                assert json.loads(own._native.explain([], 3, ["label", "document"])) == expected
        finally:
            server.kill()
