"""Training: a treebank in, a bundle out."""

from __future__ import annotations

import json
import logging
from os import PathLike, fspath
from typing import Literal

from . import _native
from .document import Doc, read_conllu
from .pipeline import Pipeline, load, prepare
from .progress import Progress, listening

_log = logging.getLogger("citree")


def train(
    train: str | PathLike[str],
    dev: str | PathLike[str],
    out: str | PathLike[str],
    *,
    preset: Literal["paper", "small", "joint", "demo"] = "small",
    config: str | PathLike[str] | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    system: str | None = None,
    rule: str | None = None,
    init: str | PathLike[str] | None = None,
    resume: bool = False,
    word_vectors: str | PathLike[str] | None = None,
    encoder: str | PathLike[str] | None = None,
    encoder_train: bool = False,
    cache: str | PathLike[str] | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = False,
    bert: str | PathLike[str] | None = None,
    bert_train: bool = False,
) -> Pipeline:
    """Trains a bundle on CoNLL-U files, indexes its training edges, and opens it.

    `config` is a TOML file whose values replace the preset's. `progress` is a function of what, done and total, or True
    for a tqdm bar; the results of every epoch go to the logger `citree`. Ctrl-C saves a checkpoint, from which
    `resume=True` goes on to the same result. `init` is a bundle to start from.

    `word_vectors` is a file of fastText or GloVe, and `encoder` the folder of a transformer, such as BERT, with config.json,
    tokenizer.json and model.safetensors. It is frozen unless `encoder_train` is set; `bert` and `bert_train` are older names
    for both. The states of a frozen one for these treebanks are kept in
    the folder `cache` for the next training, if one is named.

    >>> nlp = citree.train("train.conllu", "dev.conllu", "new.citree", preset="demo", epochs=1)
    >>> nlp("It rained.").sentences[0].words[1].form
    'rained'
    """
    prepare()
    with listening(progress) as listener:
        _native.train(
            fspath(train),
            fspath(dev),
            fspath(out),
            preset=preset,
            config=_path(config),
            epochs=epochs,
            seed=seed,
            system=system,
            rule=rule,
            init=_path(init),
            resume=resume,
            word_vectors=_path(word_vectors),
            encoder=_path(encoder if encoder is not None else bert),
            encoder_train=encoder_train or bert_train,
            cache=_path(cache),
            device=device,
            threads=threads,
            progress=listener,
            epoch=_epoch,
        )
    return load(out, device=device, threads=threads)


def starter_treebank() -> tuple[Doc, Doc]:
    """The training set and the dev set of `citree demo`: everyday English, for trying things out.

    >>> training, dev = citree.starter_treebank()
    >>> len(training) > 250
    True
    """
    training, dev = _native.starter()
    return read_conllu(training), read_conllu(dev)


def _path(path: str | PathLike[str] | None) -> str | None:
    return None if path is None else fspath(path)


def _epoch(report: str) -> None:
    facts = json.loads(report)
    _log.info("%(task)s epoch %(epoch)d: loss %(loss).4f, dev %(dev_accuracy).4f", facts)
