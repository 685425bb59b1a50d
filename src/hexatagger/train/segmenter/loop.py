"""Train the segmenter on a treebank and write its two files; a few minutes on one core."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hexatagger.errors import FormatError
from hexatagger.formats.files import replacing
from hexatagger.formats.text import ud_text
from hexatagger.model.folder import SEGMENTER, SEGMENTER_NETWORK, write_file
from hexatagger.model.onnx import open_session
from hexatagger.scoring.evaluate import evaluate
from hexatagger.segment.alphabet import NEWLINE, REACH, mark_breaks
from hexatagger.segment.multiword import learn_rewrites
from hexatagger.segment.segmenter import END, Segmenter, to_json
from hexatagger.sentence import Sentence
from hexatagger.train.export.int8 import store
from hexatagger.train.loop import Report
from hexatagger.train.segmenter.data import IGNORE, Treebank, read_treebank, usable
from hexatagger.train.segmenter.material import collect
from hexatagger.train.segmenter.network import CharacterTagger, SegmenterConfig, to_onnx
from hexatagger.train.segmenter.windows import windows

_TOLERANCE = 1e-4  # between torch and ONNX Runtime
_THRESHOLDS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, -0.5, -1.0, -2.0)  # for sentence ends: the best on dev is kept

_SPACED = 0.5  # white space separates words if it follows at least this share of the tokens,
_INSIDE = 0.1  # if at most this share of it is inside tokens,
_MULTIWORD = 0.1  # and if at most this share of the tokens has several words
_LOGOGRAMS = 1000  # a treebank with more different characters has logograms, most of them rare


def config_for(treebank: Treebank) -> SegmenterConfig:
    """Return the usual network, or one of twice the width where white space does not separate words.

    Words F1 on dev: Coptic 90.9 → 92.7, Vietnamese 84.4 → 85.2, Thai 87.0 → 88.1, Chinese 84.6 → 85.5, Japanese
    86.6 → 87.5. Chinese gains from the dropout rather than the width; in Vietnamese, 0.25 gives 82.8.
    """
    sentences = [sentence for paragraph in treebank.paragraphs for sentence in paragraph]
    ends = [sentence.labels[:-1, END] == 1 for sentence in sentences]
    white = [sentence.ids[1:] <= NEWLINE for sentence in sentences]
    separate = sum(int((space & end).sum()) for space, end in zip(white, ends, strict=True))
    tokens, spaces = (sum(int(each.sum()) for each in part) for part in (ends, white))
    spaced = separate >= max(_SPACED * tokens, (1 - _INSIDE) * spaces)
    if spaced and len(treebank.multiwords) <= _MULTIWORD * tokens:
        return SegmenterConfig()
    logograms = len(treebank.settings.characters) > _LOGOGRAMS
    return SegmenterConfig(width=96, dropout=0.25 if logograms else 0.15, steps=2500)


def train_segmenter(
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    out: Path,
    *,
    config: SegmenterConfig | None = None,
    report: Report | None = None,
) -> dict[str, float]:
    """Train on sentences and write the segmenter into a model folder; return the scores on dev.

    Without `config`, it is that of `config_for`. The state that is kept is the best one on dev by the mean of Words and
    Sentences F1 from UD's raw text of it, as in the CoNLL 2018 shared task. Events are those of the parser's training,
    with "part" segmenter.
    """
    tell = report or (lambda event: None)
    train, dev = usable(train), usable(dev)
    if not train or not dev:
        raise FormatError("has no sentence that a segmenter can be trained on", source="treebank")
    treebank = read_treebank(train, radius=(config or SegmenterConfig()).radius)
    config = config or config_for(treebank)
    rewrites = learn_rewrites(treebank.multiwords)
    text = ud_text(dev)
    torch.manual_seed(config.seed)
    network = CharacterTagger(config, treebank.category)
    best, settings, best_scores = b"", treebank.settings, dict[str, float]()
    for epoch in _fit(network, treebank, config, tell):
        whole = to_onnx(network)
        session = open_session(whole.SerializeToString(), source=SEGMENTER_NETWORK)
        _check_parity(network, Segmenter(session, treebank.settings, rewrites))
        graph = store(whole).SerializeToString()
        session = open_session(graph, source=SEGMENTER_NETWORK)
        tried = []
        for threshold in _THRESHOLDS:
            changed = replace(treebank.settings, threshold=threshold)
            tried.append((score_segmenter(Segmenter(session, changed, rewrites), dev, text), changed))
        scores, changed = max(tried, key=lambda each: _mean(each[0]))
        tell({"event": "epoch", "part": "segmenter", **epoch, **scores})
        if not best_scores or _mean(scores) > _mean(best_scores):
            best, settings, best_scores = graph, changed, scores
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / SEGMENTER_NETWORK) as temporary:
        temporary.write_bytes(best)
    write_file(out / SEGMENTER, to_json(settings, rewrites, best_scores))
    return best_scores


def _fit(
    network: CharacterTagger, treebank: Treebank, config: SegmenterConfig, tell: Report
) -> Iterator[dict[str, Any]]:
    """Train; yield `checks` times, with the number of the check as the epoch."""
    random, began = np.random.default_rng(config.seed), time.monotonic()
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.rate, weight_decay=config.weight_decay)
    plan = _batches(treebank, config, random)
    characters = sum(len(sentence.ids) for paragraph in treebank.paragraphs for sentence in paragraph)
    steps = config.steps or min(3500, max(2000, 14 * characters // (config.batch * config.window)))
    tell({"event": "start", "part": "segmenter", "epochs": config.checks, "epoch": 0, "characters": characters})
    total, count, epoch = 0.0, 0, 1
    for step in range(1, steps + 1):
        network.train()
        ids, labels = next(plan)
        done = step / steps
        for group in optimizer.param_groups:
            group["lr"] = config.rate * min(1.0, done / 0.05, (1 - done) / 0.95 + 1e-3)
        loss = _loss(network(ids), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        total, count = total + loss.item(), count + 1
        figures = {"loss": round(total / count, 5), "seconds": round(time.monotonic() - began, 1)}
        progress = {"epoch": epoch, "step": step, "of": steps, "done": round(done, 5)}
        tell({"event": "step", "part": "segmenter", **progress, **figures})
        if step * config.checks // steps > (step - 1) * config.checks // steps:
            yield {"epoch": epoch, **figures}
            total, count, epoch = 0.0, 0, epoch + 1


def _batches(
    treebank: Treebank, config: SegmenterConfig, random: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches without end; every pass over the treebank has another order and other changes to the text."""
    material = collect(treebank)
    while True:
        ids, labels = windows(material, config.changes, size=config.window, random=random)
        order = random.permutation(len(ids))
        for start in range(0, len(order), config.batch):
            chosen = order[start : start + config.batch]
            yield torch.from_numpy(ids[chosen].astype(np.int64)), torch.from_numpy(labels[chosen])


def _loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the negative log-likelihood of all labels, per character."""
    counts = labels != IGNORE
    each = functional.binary_cross_entropy_with_logits(scores, labels.clamp(min=0).float(), reduction="none")
    return (each * counts).sum() / counts[..., END].sum().clamp(min=1)


def score_segmenter(segmenter: Segmenter, gold: Sequence[Sentence], text: str) -> dict[str, float]:
    """Segment the raw text of gold sentences and score it: Tokens, Sentences and Words F1."""
    made = segmenter.segment(text)
    metrics = evaluate([_flat(each) for each in gold], [_flat(each) for each in made]).metrics
    return {name: round(metrics[name].f1, 3) for name in ("Tokens", "Sentences", "Words")}


def _flat(sentence: Sentence) -> Sentence:
    """Give a sentence some tree, because scoring wants one."""
    return replace(sentence, words=[replace(word, head=int(word.id > 1), deprel="dep") for word in sentence])


def _mean(scores: dict[str, float]) -> float:
    return (scores["Words"] + scores["Sentences"]) / 2


def _check_parity(network: CharacterTagger, segmenter: Segmenter) -> None:
    """Raise FormatError if ONNX Runtime has other scores than torch."""
    ids = np.random.default_rng(0).integers(0, segmenter.alphabet.size, 3000).astype(np.int32)
    with torch.no_grad():
        expected = network.eval()(torch.from_numpy(mark_breaks(ids).astype(np.int64))[None])[0].numpy()
    difference = float(np.abs(segmenter.score(ids) - expected[REACH : len(expected) - REACH]).max())
    if difference > _TOLERANCE * max(1, np.abs(expected).max()):
        raise FormatError(f"ONNX Runtime and torch differ by {difference}", source=SEGMENTER_NETWORK)
