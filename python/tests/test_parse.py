"""Parsing: text and CoNLL-U in, words and CoNLL-U out, and errors that say what to do."""

from pathlib import Path

import pytest
from conftest import TEXT, need

import citree


def test_a_text_becomes_sentences_and_words_with_one_root_each(nlp: citree.Pipeline) -> None:
    doc = nlp(TEXT)
    assert [sentence.text for sentence in doc.sentences] == ["She reads the old letters in the garden.", "It rained."]
    for sentence in doc:
        assert [word.id for word in sentence] == list(range(1, len(sentence) + 1))
        assert [word.head for word in sentence].count(0) == 1
        assert all(0 < word.head_prob <= 1 and 0 < word.label_prob <= 1 for word in sentence)


def test_full_stops_inside_a_sentence_do_not_end_it(nlp: citree.Pipeline) -> None:
    assert len(nlp("It costs 3.50 euros, he said... and left.")) == 1
    assert [sentence.text for sentence in nlp('"It rained." She reads!')] == ['"It rained."', "She reads!"]
    assert len(nlp("It rained. She reads.", lines=True)) == 1
    assert len(nlp("It rained.\n\nShe reads\n")) == 2


def test_words_are_found_in_the_text_again(nlp: citree.Pipeline) -> None:
    text = "  She   reads, doesn't she?\n\n\tShe doesn't. Zoë's cat’s 3.50 € naïve…\u00a0It rained."
    doc = nlp(text)
    for sentence, spans in zip(doc, doc.offsets(), strict=True):
        inside = {id for first, last, _ in sentence.tokens for id in range(first, last + 1)}
        assert [text[a:b] for a, b in spans] == [
            word.form if word.id not in inside else text[a:b] for word, (a, b) in zip(sentence, spans, strict=True)
        ]
        assert all(spans[first - 1] == spans[last - 1] for first, last, _ in sentence.tokens)
    covered = {at for spans in doc.offsets() for span in spans for at in range(*span)}
    assert {text[at] for at in range(len(text)) if at not in covered} <= set(" \n\t\u00a0")
    with pytest.raises(ValueError, match="no text"):
        nlp(["It", "rained"]).offsets()


def test_no_text_is_a_document_without_sentences(nlp: citree.Pipeline) -> None:
    assert len(nlp("")) == len(nlp(" \n\n ")) == 0
    assert nlp("").to_conllu() == ""
    assert list(nlp.pipe([])) == []


def test_a_stream_gives_the_same_as_single_calls_in_order(nlp: citree.Pipeline) -> None:
    texts = [TEXT, "It rained.", "", "She reads."] * 5
    streamed = list(nlp.pipe(iter(texts), batch_size=3))
    edges = [[[(w.head, w.deprel) for w in s] for s in doc] for doc in streamed]
    assert edges == [[[(w.head, w.deprel) for w in s] for s in nlp(text)] for text in texts]
    assert [doc.text for doc in streamed] == texts


def test_a_streamed_sentence_can_be_explained(nlp: citree.Pipeline) -> None:
    (doc,) = nlp.pipe(["She reads old letters."])
    assert len(doc.sentences[0].words[3].explain(k=2).attachment.citations) == 2


def test_words_keep_their_boundaries(nlp: citree.Pipeline) -> None:
    doc = nlp([["New", "York", "rained"], ["It", "rained", "."]])
    assert [[word.form for word in sentence] for sentence in doc] == [["New", "York", "rained"], ["It", "rained", "."]]


def test_conllu_is_read_and_written_without_loss(folder: Path, nlp: citree.Pipeline) -> None:
    text = (folder / "dev.conllu").read_text(encoding="utf-8")
    doc = citree.read_conllu(folder / "dev.conllu")
    assert doc.to_conllu() == citree.read_conllu(text).to_conllu() == text
    parsed = nlp(doc)
    assert [word.lemma for word in parsed[0]] == [word.lemma for word in doc[0]]
    assert doc[0].words[0].head_prob is None and not doc[0].is_parsed
    assert "HeadProb=" in parsed.to_conllu(scores=True) and "HeadProb=" not in parsed.to_conllu()


def test_objects_of_other_packages_are_taken(folder: Path, nlp: citree.Pipeline) -> None:
    conllu = need("conllu")
    text = (folder / "dev.conllu").read_text(encoding="utf-8")
    first = conllu.parse(text)[0]
    assert [word.form for word in citree.read_conllu(first)[0]] == [token["form"] for token in first]
    assert citree.read_conllu(conllu.parse(text)).to_conllu() == text
    assert [token["head"] for token in nlp("It rained.").to_tokenlists()[0]] == [2, 0, 2]
    need("udapi")
    given = nlp("It rained. She reads.").to_udapi()
    assert [[node.form for node in bundle.get_tree().descendants] for bundle in given.bundles][1] == ["She", "reads", "."]
    assert [word.head for word in citree.read_conllu(given)[0]] == [2, 0, 2]


def test_what_is_not_conllu_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text("# a comment\n1\tHi\t_\n\n")
    with pytest.raises(citree.CoNLLUError, match="bad.conllu:2") as error:
        citree.read_conllu(path)
    assert (Path(error.value.file), error.value.line) == (path, 2)
    with pytest.raises(FileNotFoundError, match="nothing.conllu"):
        citree.read_conllu(tmp_path / "nothing.conllu")
    with pytest.raises(citree.CoNLLUError, match="root"):
        citree.read_conllu("1\tHi\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tyou\t_\t_\t_\t_\t1\tdep\t_\t_\n\n", trees=True)


def test_a_missing_or_damaged_bundle_is_an_error_with_a_remedy(tmp_path: Path, bundle: Path) -> None:
    with pytest.raises(citree.BundleError, match="nothing.citree"):
        citree.load(tmp_path / "nothing.citree")
    (tmp_path / "half.citree" / "model").mkdir(parents=True)
    with pytest.raises(citree.CitreeError):
        citree.load(tmp_path / "half.citree")


def test_wrong_arguments_are_python_errors(nlp: citree.Pipeline, bundle: Path) -> None:
    for wrong in ({"rule": "best"}, {"decode": "beam"}, {"device": "tpu"}, {"neighbors": 5}, {"treebanks": ["none"]}):
        with pytest.raises((ValueError, citree.CitreeError)):
            citree.load(bundle, **wrong)
    for wrong in (None, 3, b"text", [1, 2]):
        with pytest.raises(TypeError):
            nlp(wrong)
    with pytest.raises(TypeError):
        list(nlp.pipe([3]))
    with pytest.raises(ValueError, match="batch_size"):
        list(nlp.pipe(["It rained."], batch_size=0))
    with pytest.raises((OverflowError, ValueError)):
        citree.load(bundle, threads=-1)


def test_a_sentence_that_was_only_read_is_not_explained(folder: Path) -> None:
    sentence = citree.read_conllu(folder / "dev.conllu")[0]
    with pytest.raises(ValueError, match="not parsed"):
        sentence.words[0].explain()
    assert sentence._repr_html_() is None


def test_the_version_is_that_of_the_command() -> None:
    from conftest import command

    assert command("--version").stdout.split()[1] == citree.__version__
