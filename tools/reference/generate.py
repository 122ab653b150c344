#!/usr/bin/env python3
"""Reference values from PyTorch, for the tests of our kernels in src/.

    pip install torch numpy
    python3 tools/reference/generate.py             writes lstm, char_cnn, adam and edges into tools/reference/values/
    python3 tools/reference/generate.py lstm adam   writes these two

All arithmetic is in double precision. Inputs have few digits, so that a file holds them exactly. Results have 13
digits. Tensors are in PyTorch's layout; the tests convert them to ours. Rows of words are in sentence order, without
padding. `grad.X` is the gradient of the loss with respect to X.
"""
import json, pathlib, sys
import torch, torch.nn as nn, torch.nn.functional as F
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

SEED = 20
VALUES = pathlib.Path(__file__).parent / "values"
LENGTHS = [4, 2, 5]
TAU = 64.0


def draw(*shape, scale=1.0):
    return ((torch.randn(*shape) * scale * 1000).round() / 1000).requires_grad_()


def redraw(module, scale=0.6):
    """Replaces the initial values of a module by values with few digits."""
    for parameter in module.parameters():
        parameter.data = draw(*parameter.shape, scale=scale).detach()
    return module


def gradients(tensors, loss):
    grads = torch.autograd.grad(loss, list(tensors.values()), retain_graph=True)
    return {f"grad.{name}": grad for name, grad in zip(tensors, grads)}


def lstm():
    """Two bidirectional layers on a packed batch of unequal lengths; the loss is a weighted sum of the output."""
    inputs, units = 3, 3
    module = redraw(nn.LSTM(inputs, units, 2, bidirectional=True))
    rows, weighting = draw(sum(LENGTHS), inputs), draw(sum(LENGTHS), 2 * units).detach()
    packed, _ = module(pack_sequence(rows.split(LENGTHS), enforce_sorted=False))
    output = torch.cat(unpack_sequence(packed))
    learnt = {"rows": rows, **dict(module.named_parameters())}
    found = gradients(learnt, (output * weighting).sum())
    return {"lengths": LENGTHS, "units": units, **learnt, "weighting": weighting, "output": output, **found}


def char_cnn():
    """Embedding, convolution of window 3, maximum over the word's own positions; each word at its exact length."""
    words = [[3, 1, 2, 2, 4, 5, 1], [0], [4, 3], [5, 0, 5]]
    embedding, conv = redraw(nn.Embedding(6, 3), 1.0), redraw(nn.Conv1d(3, 4, 3, padding=1))
    weighting = draw(len(words), 4).detach()
    windows = [conv(embedding(torch.tensor(word)).T[None])[0] for word in words]
    output = torch.stack([window.amax(1) for window in windows])
    learnt = {"embedding": embedding.weight, "filter": conv.weight, "bias": conv.bias}
    found = gradients(learnt, (output * weighting).sum())
    return {"words": words, **learnt, "weighting": weighting, "output": output, **found}


def adam():
    """Adam at lr / (1 + 0.05 t) after clipping to 5: gradients longer and shorter than that, tiny, and absent ones."""
    steps, rate, decay, clip = 8, 0.01, 0.05, 5.0
    parameters = {"embedding": draw(4, 3), "weight": draw(2, 5)}
    result = {"rate": rate, "decay": decay, "clip": clip, **{f"{n}.0": p.detach().clone() for n, p in parameters.items()}}
    optimiser = torch.optim.Adam(parameters.values(), lr=rate)
    norms = []
    for step in range(steps):
        for name, parameter in parameters.items():
            parameter.grad = draw(*parameter.shape, scale=[0.5, 4.0][step % 2]).detach()
            if name == "embedding":
                parameter.grad[1] *= 1e-7  # where Adam's own epsilon decides
                parameter.grad[2] *= float(step == 0)  # a word seen once: its momentum still moves it
            result[f"{name}.{step}.gradient"] = parameter.grad.clone()
        optimiser.param_groups[0]["lr"] = rate / (1 + decay * step)
        norms.append(float(nn.utils.clip_grad_norm_(parameters.values(), clip)))
        optimiser.step()
        result.update({f"{name}.{step + 1}": p.detach().clone() for name, p in parameters.items()})
    return {"norms": norms, **result}


def edges():
    """Edge vectors W(d * h), their scores against support edges, and both losses, by dot product and by cosine.

    The first three sentences are queries, the last is the support: the mean of its edges for heads, one edge for each
    label for labels. Position 0 of each sentence is ROOT; a word is never its own head.
    """
    lengths, dims = [*LENGTHS, 4], 4
    heads = [[2, 0, 2], [0], [3, 1, 0, 3], [0, 1, 2]]
    labels = [[1, 0, 2], [0], [2, 2, 0, 1], [0, 1, 2]]
    dependent, head = draw(sum(lengths), dims), draw(sum(lengths), dims)
    transform = redraw(nn.Linear(dims, dims, bias=False))
    learnt = {"dependent": dependent, "head": head, "transform": transform.weight}
    result = {"lengths": lengths, "heads": heads, "labels": labels, "scale": TAU, **learnt}
    d, h = dependent.split(lengths), head.split(lengths)
    for similarity in ["dot", "cosine"]:
        # Dot products are not bounded as cosines are, so they need no scale.
        scale = 1.0 if similarity == "dot" else TAU
        edge = transform if similarity == "dot" else lambda product: F.normalize(transform(product), dim=-1)
        gold = [edge(d[s][1:] * h[s][heads[s]]) for s in range(len(lengths))]
        losses, all_scores, mean = [], [], gold[-1].mean(0)
        for s, n in enumerate(LENGTHS):
            scores = scale * (edge(d[s][1:, None] * h[s][None]) @ mean)
            itself = torch.eye(n, dtype=torch.bool)[1:]
            allowed = scores.masked_fill(itself, float("-inf"))
            losses.append(F.cross_entropy(allowed, torch.tensor(heads[s]), reduction="none"))
            all_scores.append(scores.flatten())
        loss = torch.cat(losses).mean()
        result |= {f"{similarity}.heads.scores": torch.cat(all_scores), f"{similarity}.heads.loss": loss}
        result |= {f"{similarity}.heads.{name}": g for name, g in gradients(learnt, loss).items()}
        scores = scale * torch.cat(gold[:-1]) @ gold[-1].T
        loss = F.cross_entropy(scores, torch.tensor(sum(labels[:-1], [])))
        result |= {f"{similarity}.labels.scores": scores, f"{similarity}.labels.loss": loss}
        result |= {f"{similarity}.labels.{name}": g for name, g in gradients(learnt, loss).items()}
    return result


def plain(value):
    """JSON for a tensor: shape and values, at 13 digits."""
    if not isinstance(value, torch.Tensor):
        return value
    values = [float(f"{x:.13g}") for x in value.detach().flatten().tolist()]
    return {"shape": list(value.shape), "values": values}


def write(name, command, entries):
    """Writes `values/NAME.json`: the version of PyTorch, the seed and the command, then one line per entry."""
    entries = {"torch": torch.__version__, "seed": SEED, "command": command, **entries}
    lines = [f"{json.dumps(key)}: {json.dumps(plain(value))}" for key, value in entries.items()]
    (VALUES / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf8")


def main():
    subjects = {"lstm": lstm, "char_cnn": char_cnn, "adam": adam, "edges": edges}
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    for name in sys.argv[1:] or subjects:
        torch.manual_seed(SEED)
        write(name, f"python3 tools/reference/generate.py {name}", subjects[name]())


if __name__ == "__main__":
    main()
