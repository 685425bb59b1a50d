"""Treebank statistics: how much of it is projective, how deep the decoder's stack gets, what lifting loses."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import ne

from hexatagger.scoring.breakdown import percent
from hexatagger.sentence import Sentence
from hexatagger.tags import SCHEMES, Scheme, depth_needed, from_heads, lift, unlift
from hexatagger.tree import nonprojective_words


@dataclass(slots=True)
class LiftingLoss:
    """What is lost when trees are lifted by one scheme and restored."""

    words: int = 0
    """Words whose head or relation is not restored."""
    sentences: int = 0
    labels: set[str] = field(default_factory=set)
    """Marked relations that the scheme adds."""


@dataclass(slots=True)
class TreebankStats:
    """Counts over a treebank."""

    sentences: int = 0
    words: int = 0
    longest: int = 0
    deprels: set[str] = field(default_factory=set)
    nonprojective_sentences: int = 0
    nonprojective_words: int = 0
    depth_left: int = 0
    """Greatest stack depth with left dependents first; `depth_right`: with right dependents first."""
    depth_right: int = 0
    losses: dict[Scheme, LiftingLoss] = field(default_factory=lambda: {scheme: LiftingLoss() for scheme in SCHEMES})

    def to_json(self) -> dict[str, object]:
        """Return counts and shares (in percent) as plain values for JSON."""
        return {
            "sentences": self.sentences,
            "words": self.words,
            "longest": self.longest,
            "relations": len(self.deprels),
            "nonprojective_sentences": percent(self.nonprojective_sentences, self.sentences),
            "nonprojective_words": percent(self.nonprojective_words, self.words),
            "depth": {"left": self.depth_left, "right": self.depth_right},
            "lift": {
                scheme: {
                    "words_lost": loss.words,
                    "loss": percent(loss.words, self.words),
                    "sentences_lost": loss.sentences,
                    "extra_relations": len(loss.labels),
                }
                for scheme, loss in self.losses.items()
            },
        }


def collect(sentences: Iterable[Sentence]) -> TreebankStats:
    """Collect statistics over sentences whose trees have one root.

    >>> stats = collect([Sentence.from_words(["a", "b", "c"], heads=[3, 0, 2], deprels=["x", "root", "y"])])
    >>> stats.nonprojective_sentences, stats.depth_left, stats.losses["head"].words
    (1, 1, 0)
    """
    stats = TreebankStats()
    for sentence in sentences:
        heads, deprels = sentence.heads, sentence.deprels
        stats.sentences += 1
        stats.words += len(sentence)
        stats.longest = max(stats.longest, len(sentence))
        stats.deprels.update(deprels)
        projective = heads
        if crossing := len(nonprojective_words(heads)):
            stats.nonprojective_sentences += 1
            stats.nonprojective_words += crossing
            for scheme, loss in stats.losses.items():
                projective, marked = lift(heads, deprels, scheme)
                restored = unlift(projective, marked, scheme)
                gold = zip(heads, deprels, strict=True)
                wrong = sum(map(ne, gold, zip(*restored, strict=True)))
                loss.words += wrong
                loss.sentences += wrong > 0
                loss.labels.update(set(marked) - set(deprels))
        stats.depth_left = max(stats.depth_left, depth_needed(from_heads(projective, "left")))
        stats.depth_right = max(stats.depth_right, depth_needed(from_heads(projective, "right")))
    return stats
