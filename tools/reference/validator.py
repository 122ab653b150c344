"""What the official validator (PyPI `udtools`) says about planted faults, for the test of `citree check`.

    pip install udtools==0.2.9
    python tools/reference/validator.py > tools/reference/values/validator.jsonl
"""
import json
import tempfile

from udtools import Validator
from udtools.incident import TestClass

FIRST = """# newdoc id = d1
# sent_id = s1
# parallel_id = garden/1
# text = She can't read it.
1\tShe\tshe\tPRON\tPRP\tCase=Nom|Number=Sing\t4\tnsubj\t4:nsubj\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\tVerbForm=Fin\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\tPolarity=Neg\t4\tadvmod\t4:advmod\t_
4\tread\tread\tVERB\tVB\tVerbForm=Inf\t0\troot\t0:root\t_
5\tit\tit\tPRON\tPRP\tCase=Acc|Number=Sing\t4\tobj\t4:obj\tSpaceAfter=No
6\t.\t.\tPUNCT\t.\t_\t4\tpunct\t4:punct\t_
"""
SECOND = """# sent_id = s2
# text = He reads more.
1\tHe\the\tPRON\tPRP\tCase=Nom|Number=Sing\t2\tnsubj\t2:nsubj|2.1:nsubj\t_
2\treads\tread\tVERB\tVBZ\tVerbForm=Fin\t0\troot\t0:root\t_
2.1\treads\tread\tVERB\tVBZ\tVerbForm=Fin\t_\t_\t2:conj:and\t_
3\tmore\tmore\tADJ\tJJR\tDegree=Cmp\t2\tobj\t2:obj\tSpaceAfter=No
4\t.\t.\tPUNCT\t.\t_\t2\tpunct\t2:punct\t_
"""

# A name, and what to replace by what in the first or the second sentence.
PLANTED = [
    ("sound", 1, "", ""),
    ("unknown UPOS", 1, "PRON\tPRP\tCase=Nom", "PRONOUN\tPRP\tCase=Nom"),
    ("UPOS in small letters", 1, "\tVERB\t", "\tverb\t"),
    ("no UPOS", 1, "\tVERB\t", "\t_\t"),
    ("no UPOS of an empty node", 2, "2.1\treads\tread\tVERB", "2.1\treads\tread\t_"),
    ("features in the wrong order", 1, "Case=Nom|Number=Sing", "Number=Sing|Case=Nom"),
    ("order of features without regard to case", 2, "Degree=Cmp", "AbC=A|Abb=B"),
    ("a feature twice", 1, "Polarity=Neg", "Polarity=Neg|Polarity=Pos"),
    ("a feature without value", 1, "Polarity=Neg", "Polarity"),
    ("a feature with an empty value", 1, "Polarity=Neg", "Polarity="),
    ("a feature in small letters", 1, "Polarity=Neg", "polarity=Neg"),
    ("a value in small letters", 1, "Polarity=Neg", "Polarity=neg"),
    ("a layered feature", 1, "Polarity=Neg", "Number[psor]=Sing"),
    ("an empty layer", 1, "Polarity=Neg", "Number[]=Sing"),
    ("two values", 1, "Polarity=Neg", "Polarity=Neg,Pos"),
    ("values in the wrong order", 1, "Polarity=Neg", "Polarity=Pos,Neg"),
    ("a value twice", 1, "Polarity=Neg", "Polarity=Neg,Neg"),
    ("a label in capitals", 1, "\tnsubj\t", "\tNSUBJ\t"),
    ("an unknown label", 1, "\tnsubj\t", "\tsubject\t"),
    ("a subtype", 1, "\tnsubj\t", "\tnsubj:pass\t"),
    ("two subtypes", 1, "\tnsubj\t", "\tnsubj:pass:x\t"),
    ("root with another label", 1, "\t0\troot\t", "\t0\tdep\t"),
    ("root below a word", 1, "\t4\tobj\t", "\t4\troot\t"),
    ("a multiword token with a lemma", 1, "can't\t_", "can't\tcannot"),
    ("a multiword token with Typo", 1, "can't\t_\t_\t_\t_", "can't\t_\t_\t_\tTypo=Yes"),
    ("a multiword token with a head", 1, "can't\t_\t_\t_\t_\t_\t_", "can't\t_\t_\t_\t_\t4\taux"),
    ("a multiword token with a space", 1, "can't\t_", "can 't\t_"),
    ("an empty node with a head", 2, "VerbForm=Fin\t_\t_\t2:conj", "VerbForm=Fin\t2\tconj\t2:conj"),
    ("DEPS without label", 1, "4:nsubj", "4"),
    ("DEPS with a wrong head", 1, "4:nsubj", "x:nsubj"),
    ("DEPS with an unknown head", 1, "4:nsubj", "9:nsubj"),
    ("DEPS with an unknown empty node", 2, "2.1:nsubj", "2.2:nsubj"),
    ("DEPS in the wrong order", 2, "2:nsubj|2.1:nsubj", "2.1:nsubj|2:nsubj"),
    ("DEPS of one head in the wrong order", 2, "2:nsubj|2.1:nsubj", "2:obj|2:nsubj"),
    ("an edge of DEPS twice", 2, "2:nsubj|2.1:nsubj", "2:nsubj|2:nsubj"),
    ("a self-loop in DEPS", 1, "4:nsubj", "1:nsubj"),
    ("an enhanced label with a word", 1, "4:obj", "4:obl:mit_zu:dat"),
    ("an enhanced label with other letters", 1, "4:obj", "4:obl:über"),
    ("an enhanced label with a capital", 1, "4:obj", "4:obl:Mit"),
    ("an enhanced label with an underscore at its end", 1, "4:obj", "4:obl:mit_"),
    ("an enhanced label of five parts", 1, "4:obj", "4:obl:a:b:c:d"),
    ("ref", 1, "4:obj", "4:ref"),
    ("an unknown enhanced relation", 1, "4:obj", "4:object"),
    ("a graph in two pieces", 1, "4:nsubj\t_\n2-3", "5:nsubj\t_\n2-3", "4:obj", "1:obj"),
    ("a graph in one of two sentences", 2, "2:nsubj|2.1:nsubj", "_", "0:root", "_", "2.1\treads\tread\tVERB\tVBZ\tVerbForm=Fin\t_\t_\t2:conj:and\t_\n", "", "2:obj", "_", "2:punct", "_"),
    ("SpaceAfter twice", 1, "SpaceAfter=No", "SpaceAfter=No|SpaceAfter=No"),
    ("another key twice", 1, "SpaceAfter=No", "Note=a|Note=b|SpaceAfter=No"),
    ("SpaceAfter=Yes", 1, "4:punct\t_", "4:punct\tSpaceAfter=Yes"),
    ("NoSpaceAfter", 1, "4:punct\t_", "4:punct\tNoSpaceAfter=Yes"),
    ("SpaceAfter of an empty node", 2, "2:conj:and\t_", "2:conj:and\tSpaceAfter=No"),
    ("SpaceAfter inside of a multiword token", 1, "4:aux\t_", "4:aux\tSpaceAfter=No"),
    ("no SpaceAfter where the text has no space", 1, "SpaceAfter=No", "_"),
    ("SpaceAfter where the text has a space", 1, "4:nsubj\t_", "4:nsubj\tSpaceAfter=No"),
    ("another word in the text", 1, "# text = She", "# text = Shy"),
    ("the text is longer", 1, "it.\n1", "it. Yes\n1"),
    ("the text is shorter", 1, " it.\n1", " it\n1"),
    ("white space after the text", 1, "it.\n1", "it. \n1"),
    ("an empty text", 1, "# text = She can't read it.", "# text ="),
    ("no text", 1, "# text = She can't read it.\n", ""),
    ("two texts", 1, "# text = She can't read it.\n", "# text = She can't read it.\n# text = She can't read it.\n"),
    ("the text in another language", 1, "# text =", "# text_de = Sie\n# text ="),
    ("no sent_id", 1, "# sent_id = s1\n", ""),
    ("a sent_id without spaces around", 1, "# sent_id = s1", "#sent_id=s1"),
    ("a sent_id with a space", 1, "# sent_id = s1", "# sent_id = s 1"),
    ("a sent_id without value", 1, "# sent_id = s1", "# sent_id ="),
    ("two sent_ids", 1, "# sent_id = s1\n", "# sent_id = s1\n# sent_id = s3\n"),
    ("the sent_id of another sentence", 2, "# sent_id = s2", "# sent_id = s1"),
    ("a slash in sent_id", 1, "# sent_id = s1", "# sent_id = s1/de"),
    ("two slashes in sent_id", 1, "# sent_id = s1", "# sent_id = s1/de/x"),
    ("a wrong parallel_id", 1, "garden/1", "Garden 1"),
    ("a parallel_id with alt and part", 1, "garden/1", "garden/1/alt1part1"),
    ("a parallel_id with a wrong suffix", 1, "garden/1", "garden/1/alt0"),
    ("two parallel_ids", 1, "# parallel_id = garden/1\n", "# parallel_id = garden/1\n# parallel_id = garden/2\n"),
    ("the parallel_id of another sentence", 2, "# text", "# parallel_id = garden/1\n# text"),
    ("two bare newdocs", 1, "# newdoc id = d1\n", "# newdoc\n# newdoc\n"),
    ("two newpars", 1, "# newdoc id = d1\n", "# newpar\n# newpar p2\n"),
    ("a paragraph after SpaceAfter=No", 1, "4:punct\t_\n", "4:punct\tSpaceAfter=No\n", "# newdoc id = d1\n", ""),
    ("letters and marks apart", 1, "She\tshe", "She\tshe\u0301"),
    ("a comment with letters and marks apart", 1, "# newdoc id = d1", "# note = e\u0301"),
    ("two spaces in a lemma", 1, "She\tshe", "She\tshe  x"),
    ("one space in a lemma", 1, "She\tshe", "She\tshe x"),
]
# Faults in the second sentence that need something else in it.
ALSO = {"a paragraph after SpaceAfter=No": ("# sent_id = s2", "# newpar\n# sent_id = s2")}
# Rules of a higher level that `citree check` has at level 2.
HIGHER = ["0-is-not-root", "root-is-not-0"]
# Rules about metadata whose line is that of a word.
ON_WORDS = [
    "missing-spaceafter", "spaceafter-empty-node", "spaceafter-mwt-node", "spaceafter-value", "text-form-mismatch",
]


def rules(text):
    """Line and rule of every error. The validator gives comments the line of the first word; these have line 0."""
    with tempfile.NamedTemporaryFile("w", suffix=".conllu", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        state = Validator(level=3, lang="ud", output=None).validate_files([file.name])
    errors = [one for one in state.error_tracker if one.is_error() and (one.level <= 2 or one.testid in HIGHER)]
    # What cannot be read cannot be found either: one message is enough.
    names = {one.testid for one in errors}
    twin = lambda name: name.replace("unknown-", "invalid-")
    errors = [one for one in errors if one.testid == twin(one.testid) or twin(one.testid) not in names]
    line = lambda one: 0 if one.testclass == TestClass.METADATA and one.testid not in ON_WORDS else one.lineno
    return sorted([line(one), one.testid] for one in errors)


def main():
    for name, sentence, *changes in PLANTED:
        parts = [FIRST, SECOND]
        for old, new in zip(changes[::2], changes[1::2]):
            assert old in parts[sentence - 1], (name, old)
            parts[sentence - 1] = parts[sentence - 1].replace(old, new, 1)
        if name in ALSO:
            parts[1] = parts[1].replace(*ALSO[name], 1)
        text = "".join(part + "\n" for part in parts)
        print(json.dumps({"name": name, "text": text, "rules": rules(text)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
