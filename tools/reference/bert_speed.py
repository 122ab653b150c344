#!/usr/bin/env python3
"""Computes the features of a treebank by BERT or another transformer with Hugging Face transformers: the peer of
`cargo xtask peers bert`.

    pip install torch numpy transformers tokenizers
    python3 tools/reference/bert_speed.py --bert DIR --treebank FILE.conllu [--threads N] [--sentences K] [--batch B]

Prints tokens per second of the tokenizer and of the model. Tokens are the words of the treebank, without ROOT. The model
returns what the parser needs: the rows of [CLS] and of the first piece of each word, for every layer. Sentences are
sorted by their number of pieces, so that batches have little padding.
"""
import argparse, os, time
from itertools import islice


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bert", required=True)
    parser.add_argument("--treebank", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--batch", type=int, default=32)
    return parser.parse_args()


def read(path):
    """The words of each sentence."""
    words = []
    with open(path, encoding="utf8") as lines:
        for line in lines:
            if line[0].isdigit():
                number, word, *_ = line.split("\t")
                if number.isdigit():
                    words.append(word)
            elif not line.strip() and words:
                yield words
                words = []
    if words:
        yield words


def tokenise(tokenizer, sentences):
    """Ids and first pieces of each sentence; a word without pieces becomes [UNK]."""
    encodings = tokenizer.encode_batch(sentences, is_pretokenized=True)
    pieces = []
    for words, encoding in zip(sentences, encodings):
        first = {word: at for at, word in reversed(list(enumerate(encoding.word_ids))) if word is not None}
        if len(first) < len(words):
            words = [word if i in first else "[UNK]" for i, word in enumerate(words)]
            encoding = tokenizer.encode(words, is_pretokenized=True)
            first = {word: at for at, word in reversed(list(enumerate(encoding.word_ids))) if word is not None}
        pieces.append((encoding.ids, [0] + [first[i] for i in range(len(words))]))
    return pieces


def features(model, batch):
    """Every layer's rows of all sentences of a batch: layers + 1 times [positions, hidden]."""
    lengths = torch.tensor([len(ids) for ids, _ in batch])
    width = int(lengths.max())
    ids = torch.tensor([ids + [model.config.pad_token_id] * (width - len(ids)) for ids, _ in batch])
    # Without padding no mask is needed, and attention is faster without one.
    mask = None if int(lengths.min()) == width else (torch.arange(width) < lengths[:, None]).long()
    rows = torch.tensor([sentence * width + at for sentence, (_, firsts) in enumerate(batch) for at in firsts])
    layers = model(ids, attention_mask=mask, output_hidden_states=True).hidden_states
    return [layer.flatten(0, 1)[rows] for layer in layers]


def load(folder):
    """The model, with the fastest attention that its family has."""
    try:
        return AutoModel.from_pretrained(folder, attn_implementation="sdpa")
    except ValueError:
        return AutoModel.from_pretrained(folder, attn_implementation="eager")


def main(options):
    tokenizer = Tokenizer.from_file(os.path.join(options.bert, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    torch.set_num_threads(options.threads)
    model = load(options.bert).float().eval()
    sentences = list(islice(read(options.treebank), options.sentences))
    tokens = sum(map(len, sentences))

    tokenise(tokenizer, sentences[:options.batch])
    started = time.perf_counter()
    pieces = tokenise(tokenizer, sentences)
    print(f"tokenisation: {tokens / (time.perf_counter() - started):.0f} tokens/s")

    most = model.config.max_position_embeddings
    longest = max(len(ids) for ids, _ in pieces)
    assert longest <= most, f"a sentence of {longest} pieces, and the model has {most} positions"
    pieces.sort(key=lambda sentence: len(sentence[0]))
    batches = [pieces[at:at + options.batch] for at in range(0, len(pieces), options.batch)]
    with torch.inference_mode():
        features(model, batches[len(batches) // 2])
        started = time.perf_counter()
        for batch in batches:
            features(model, batch)
        print(f"bert features: {tokens / (time.perf_counter() - started):.0f} tokens/s")


if __name__ == "__main__":
    options = arguments()
    # Set before the imports, because the tokenizer and OpenMP read these variables when they start.
    os.environ |= {name: str(options.threads) for name in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS"]}
    os.environ |= {"TOKENIZERS_PARALLELISM": "true", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel
    main(options)
