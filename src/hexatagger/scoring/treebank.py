"""What a treebank asks of a hexatagger: how much of it is projective, how deep the stack gets, what lifting loses."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hexatagger.sentence import Sentence
from hexatagger.tags import SCHEMES, Scheme, depth_needed, from_heads, lift, unlift
from hexatagger.tree import nonprojective_words


@dataclass(slots=True)
class Loss:
    """What lifting by one scheme and undoing it costs."""

    words: int = 0
    """Words whose head or relation is not restored."""
    sentences: int = 0
    """Sentences with such a word."""
    labels: set[str] = field(default_factory=set)
    """Relations with marks that the scheme adds."""


@dataclass(slots=True)
class Stats:
    """Counts over a treebank."""

    sentences: int = 0
    words: int = 0
    longest: int = 0
    relations: set[str] = field(default_factory=set)
    nonprojective_sentences: int = 0
    nonprojective_words: int = 0
    depth_left: int = 0
    """Greatest stack depth when left dependents are taken in first."""
    depth_right: int = 0
    losses: dict[Scheme, Loss] = field(default_factory=lambda: {scheme: Loss() for scheme in SCHEMES})

    def to_json(self) -> dict[str, object]:
        """Return the counts and shares as plain values, shares in percent."""
        return {
            "sentences": self.sentences,
            "words": self.words,
            "longest": self.longest,
            "relations": len(self.relations),
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


def percent(part: int, whole: int) -> float:
    """Return a share in percent, 0 of nothing."""
    return 100 * part / whole if whole else 0.0


def collect(sentences: Iterable[Sentence]) -> Stats:
    """Count over sentences that have trees with one root.

    >>> stats = collect([Sentence.from_words(["a", "b", "c"], heads=[3, 0, 2], deprels=["x", "root", "y"])])
    >>> stats.nonprojective_sentences, stats.depth_left, stats.losses["head"].words
    (1, 1, 0)
    """
    stats = Stats()
    for sentence in sentences:
        heads, deprels = sentence.heads, sentence.deprels
        stats.sentences += 1
        stats.words += len(sentence)
        stats.longest = max(stats.longest, len(sentence))
        stats.relations.update(deprels)
        crossing = len(nonprojective_words(heads))
        projective = heads
        if crossing:
            stats.nonprojective_sentences += 1
            stats.nonprojective_words += crossing
            for scheme, loss in stats.losses.items():
                projective, marked = lift(heads, deprels, scheme)
                restored = unlift(projective, marked, scheme)
                gold = zip(heads, deprels, strict=True)
                wrong = sum(one != other for one, other in zip(gold, zip(*restored, strict=True), strict=True))
                loss.words += wrong
                loss.sentences += wrong > 0
                loss.labels.update(set(marked) - set(deprels))
        stats.depth_left = max(stats.depth_left, depth_needed(from_heads(projective, "left")))
        stats.depth_right = max(stats.depth_right, depth_needed(from_heads(projective, "right")))
    return stats
