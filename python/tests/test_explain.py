"""Explaining: rationales, alternatives, flip sets, roll-ups and what notebooks show."""

import pytest
from conftest import TEXT

import citree


@pytest.fixture
def edge(nlp: citree.Pipeline) -> citree.EdgeExplanation:
    return nlp(TEXT).sentences[0].words[4].explain(k=5)


def test_an_edge_names_the_training_edges_behind_it(edge: citree.EdgeExplanation) -> None:
    assert (edge.dependent, edge.head, edge.label) == (5, edge.sentence.words[4].head, edge.sentence.words[4].deprel)
    for rationale in (edge.attachment, edge.labelling):
        assert 0 < len(rationale.citations) <= 5
        similarities = [citation.similarity for citation in rationale.citations]
        assert similarities == sorted(similarities, reverse=True)
        assert rationale.coverage.cited == len(rationale.citations) + len(rationale.against)
    citation = edge.attachment.citations[0]
    assert citation.words[citation.dependent - 1] in citation.text
    assert edge.attachment.runner_up.head != edge.head
    assert "letters is" in str(edge)


def test_all_edges_of_a_sentence_are_explained_as_single_ones_are(nlp: citree.Pipeline) -> None:
    sentence = nlp(TEXT).sentences[0]
    assert [str(edge) for edge in sentence.explain(k=3)] == [str(word.explain(k=3)) for word in sentence]
    doubtful = [edge.dependent for edge in sentence.explain(k=1, below=0.9)]
    assert doubtful == [word.id for word in sentence if min(word.head_prob, word.label_prob) < 0.9]
    assert sentence.explain(below=0.0) == []


def test_another_head_is_compared_with_the_one_chosen(edge: citree.EdgeExplanation) -> None:
    other = 1 if edge.head != 1 else 3
    contrast = edge.why_not(head=other).head
    assert contrast.alternative.startswith(f"{other} ")
    with pytest.raises(ValueError, match="predicted"):
        edge.why_not(head=edge.head)
    with pytest.raises(ValueError, match="no edge"):
        edge.why_not(head=99)
    with pytest.raises(ValueError, match="no label"):
        edge.why_not(label="nothing")
    with pytest.raises(ValueError, match="name another"):
        edge.why_not()


def test_removing_a_flip_set_changes_the_decision(own: citree.Pipeline) -> None:
    words = ["She", "reads", "the", "old", "letters", "in", "the", "garden", "."]
    edges = own(words).sentences[0].explain(k=1)
    flips = [(edge, edge.flip().head) for edge in edges]
    edge, flip = min(((e, f) for e, f in flips if f and f.sentences), key=lambda pair: pair[1].sentences)
    assert len(repr(flip)) < 200, "members are not printed"
    own.evidence.remove(flip.all_sentences).commit("to see what changes")
    assert own(words).sentences[0].words[edge.dependent - 1].head != edge.head


def test_a_roll_up_adds_up(edge: citree.EdgeExplanation) -> None:
    for by in ("label", "genre", "document", "treebank", "prefix:1"):
        roll_up = edge.roll_up(by=by)
        assert sum(group.evidence for group in roll_up.groups) == pytest.approx(roll_up.evidence)
    with pytest.raises(ValueError, match="there are label, treebank"):
        edge.roll_up(by="colour")
    with pytest.raises(ValueError, match="no information"):
        edge.roll_up(by="label", of="label")


def test_notebooks_show_trees_and_pages_without_network(edge: citree.EdgeExplanation) -> None:
    drawing, page = edge.sentence._repr_html_(), edge._repr_html_()
    assert drawing.startswith("<img ") and "data:image/svg+xml;base64," in drawing
    assert page.startswith('<iframe sandbox="allow-same-origin" ') and "allow-scripts" not in page
    assert "Why this head" in page
    for address in ("http://", "https://"):
        assert address not in edge.to_html().replace("http://www.w3.org/2000/svg", "")


def test_text_of_a_user_is_escaped_in_pages(nlp: citree.Pipeline) -> None:
    sentence = nlp('She reads <script>alert("x")</script>').sentences[0]
    assert "<script>alert" not in sentence.words[0].explain(k=1).to_html()
    assert '"x"' not in sentence._repr_html_().split("src=")[0]
