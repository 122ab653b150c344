"""Sentence and token F1 of running text: citree beside pysbd, syntok and NLTK's Punkt, in one run.

    pip install udtools==0.2.9 pysbd==0.3.4 syntok==1.4.4 nltk==3.10.4
    pip download --no-deps llama-index-core==0.14.25      # its wheel holds Punkt's models
    unzip llama_index_core-*.whl 'llama_index/core/_static/nltk_cache/*' && export NLTK_DATA=$PWD/llama_index/core/_static/nltk_cache
    python tools/reference/sentences.py raw DEV.conllu > dev.txt
    citree parse en.citree --text dev.txt > cut.conllu
    python tools/reference/sentences.py score DEV.conllu TRAIN.conllu cut.conllu

The running text is that of `# text`: a space between the sentences of a paragraph, a blank line where `# newpar` or `# newdoc`
begins one. Peers get it paragraph by paragraph. Spans are compared as the official evaluator does, without white space;
its own figures of citree's file must agree. Punkt cuts by its own model and by one that it learns from the running text of
the training file. NLTK cuts words by its Treebank rules; pysbd cuts none, and has no Turkish: then its English rules are used.
"""
import sys
import time


def paragraphs(path):
    """The sentences of each paragraph of a treebank, as text."""
    found, begins = [], True
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(("# newpar", "# newdoc")):
                begins = True
            elif line.startswith("# text = "):
                if begins:
                    found.append([])
                found[-1].append(line[len("# text = "):].strip())
                begins = False
    return found


def spans(texts):
    """The places of texts one after another, in characters without white space."""
    found, at = set(), 0
    for text in texts:
        length = len("".join(text.split()))
        if length:
            found.add((at, at + length))
        at += length
    return found, at


def f1(gold, system):
    return 200 * len(gold & system) / (len(gold) + len(system))


def surface(path):
    """The tokens of a file as written."""
    tokens, covered = [], 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            columns = line.rstrip("\n").split("\t")
            if len(columns) < 10:
                covered = 0
            elif "-" in columns[0]:
                tokens.append(columns[1])
                covered = int(columns[0].split("-")[1])
            elif "." not in columns[0] and int(columns[0]) > covered:
                tokens.append(columns[1])
    return tokens


def peers(train, language):
    """The name of each peer, and what cuts a paragraph into sentences, and a sentence into tokens."""
    import pysbd
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTokenizer, PunktTrainer
    from syntok import segmenter

    code = language if language in pysbd.languages.LANGUAGE_CODES else "en"
    by_rules = pysbd.Segmenter(language=code, clean=False)
    trainer = PunktTrainer()
    trainer.train("\n\n".join(" ".join(one) for one in paragraphs(train)), finalize=True)
    learnt = PunktSentenceTokenizer(trainer.get_params())
    own = PunktTokenizer({"en": "english", "tr": "turkish"}[language])
    words = NLTKWordTokenizer()

    def by_syntok(text):
        # It leaves characters out of its tokens, but says where they begin.
        starts = [[token.offset for token in sentence] for one in segmenter.analyze(text) for sentence in one]
        starts[0][0] = 0
        ends = iter([start for one in starts for start in one][1:] + [len(text)])
        return [[text[start:next(ends)] for start in one] for one in starts]

    def by_nltk(text, punkt):
        cut = punkt.tokenize(text)
        return [[one[a:b] for a, b in words.span_tokenize(one)] for one in cut]

    return {
        "pysbd": lambda text: [[one] for one in by_rules.segment(text)],
        "syntok": by_syntok,
        "NLTK Punkt, its model": lambda text: by_nltk(text, own),
        "NLTK Punkt, learnt": lambda text: by_nltk(text, learnt),
    }


def score(gold, train, system, language):
    from udtools import udeval

    texts = paragraphs(gold)
    sentences, length = spans(text for one in texts for text in one)
    tokens, same = spans(surface(gold))
    assert length == same, "the tokens are not the text"
    print("| | sentences F1 | tokens F1 | words F1 | seconds |\n|---|---:|---:|---:|---:|")
    official = udeval.evaluate(udeval.load_conllu_file(gold), udeval.load_conllu_file(system))
    figures = [100 * official[name].f1 for name in ("Sentences", "Tokens", "Words")]
    print(f"| citree | {figures[0]:.2f} | {figures[1]:.2f} | {figures[2]:.2f} | |")
    own = [text for one in paragraphs(system) for text in one]
    assert abs(f1(sentences, spans(own)[0]) - figures[0]) < 1e-9, "the official evaluator counts sentences otherwise"
    assert abs(f1(tokens, spans(surface(system))[0]) - figures[1]) < 1e-9, "the official evaluator counts tokens otherwise"
    for name, cut in peers(train, language).items():
        started = time.monotonic()
        found = [one for text in texts for one in cut(" ".join(text))]
        seconds = time.monotonic() - started
        parts, end = spans("".join(one) for one in found)
        assert end == length, f"{name} lost characters"
        cut_words = f"{f1(tokens, spans(token for one in found for token in one)[0]):.2f}" if name != "pysbd" else ""
        print(f"| {name} | {f1(sentences, parts):.2f} | {cut_words} | | {seconds:.1f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["raw"]:
        print("\n\n".join(" ".join(one) for one in paragraphs(sys.argv[2])))
    else:
        score(*sys.argv[2:5], sys.argv[5] if len(sys.argv) > 5 else "en")
