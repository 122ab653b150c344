"""The component for spaCy, with the real spaCy."""

import pickle
from pathlib import Path

import pytest
from conftest import TEXT, need

import citree

spacy = need("spacy")


@pytest.fixture
def pipeline(bundle: Path) -> object:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.add_pipe("citree_parser", config={"bundle": str(bundle)})
    return pipeline


def test_heads_and_labels_are_those_of_citree(pipeline: object, nlp: citree.Pipeline) -> None:
    doc = pipeline(TEXT)
    for span, sentence in zip(doc.sents, nlp([[t.text for t in s] for s in doc.sents]), strict=True):
        for token, word in zip(span, sentence, strict=True):
            head = token.i if word.head == 0 else span[word.head - 1].i
            assert (token.head.i, token.dep_) == (head, "ROOT" if word.head == 0 else word.deprel)
    assert doc.has_annotation("DEP") and len(list(doc.sents)) == 2


def test_tokens_name_their_citations(pipeline: object) -> None:
    doc = pipeline(TEXT)
    edge = doc[4]._.citations
    assert isinstance(edge, citree.EdgeExplanation) and edge.dependent == 5
    assert edge.attachment.citations and isinstance(doc._.citree, citree.Doc)
    # The second sentence has its own numbers.
    assert doc[10]._.citations.dependent == 2


def test_white_space_and_empty_documents_are_no_trouble(pipeline: object) -> None:
    doc = pipeline("  She   reads.\n\nIt rained. ")
    assert [token.dep_ for token in doc if not token.is_space].count("ROOT") == 2
    assert doc[0]._.citations is None
    assert len(pipeline("")) == 0 and len(pipeline("   ")) == 1


def test_streams_give_the_same_as_single_documents(pipeline: object) -> None:
    texts = [TEXT, "It rained.", ""] * 3
    edges = [[(token.head.i, token.dep_) for token in doc] for doc in pipeline.pipe(texts, batch_size=2)]
    assert edges == [[(token.head.i, token.dep_) for token in pipeline(text)] for text in texts]


def test_a_saved_pipeline_is_the_same(pipeline: object, tmp_path: Path) -> None:
    expected = [(token.head.i, token.dep_) for token in pipeline(TEXT)]
    pipeline.to_disk(tmp_path / "saved")
    for copy in (spacy.load(tmp_path / "saved"), pickle.loads(pickle.dumps(pipeline))):
        assert [(token.head.i, token.dep_) for token in copy(TEXT)] == expected


def test_a_saved_document_is_explained_and_processes_share_the_work(pipeline: object) -> None:
    doc = pipeline(TEXT)
    copy = spacy.tokens.Doc(pipeline.vocab).from_bytes(doc.to_bytes())
    assert str(copy[4]._.citations) == str(doc[4]._.citations)
    assert copy._.citree.to_conllu(scores=True) == doc._.citree.to_conllu(scores=True)
    for other in pipeline.pipe([TEXT] * 4, n_process=2, batch_size=2):
        assert [(token.head.i, token.dep_) for token in other] == [(token.head.i, token.dep_) for token in doc]
        assert other[4]._.citations.dependent == 5


def test_displacy_draws_the_result(pipeline: object) -> None:
    assert "displacy-arc" in spacy.displacy.render(pipeline(TEXT), style="dep", jupyter=False)


def test_a_component_without_a_bundle_says_so() -> None:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("citree_parser")
    with pytest.raises(ValueError, match="name a bundle"):
        pipeline("It rained.")
