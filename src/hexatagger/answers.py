"""More than one tree: how sure the parser is, what else it could be, and what is known already.

All of it comes from the same scores as the best tree, renormalised over legal tag sequences (see `decode`).
Probabilities are of the tree as it was decoded: where crossing arcs were lifted, the probability of a word's head is
that of the arc it was read off from.

A sentence with constraints gets the best tree that obeys them; its probability is the one that the tree has without
them, and no alternatives are listed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.annotate import Prediction, Tree, annotate, batch, best_trees, relations_of
from hexatagger.decode import Constraints
from hexatagger.decode.constraints import joined
from hexatagger.errors import ConstraintError
from hexatagger.sentence import Sentence
from hexatagger.tags import Scheme
from hexatagger.tags.labels import MISSING, Labels

_SHOWN = 0.01
"""Heads less probable than this are not listed."""
_MOST = 8
"""How many heads of a word are listed."""
_LONGEST = 2000
"""Words of a longer sentence get no probabilities: a table of every word with every head would not fit."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked beyond the best tree."""

    probabilities: bool = False
    """How probable every head and the tree are."""
    k: int = 1
    """How many trees."""

    def __bool__(self) -> bool:
        return self.probabilities or self.k > 1


def answer(
    sentences: Sequence[Sentence],
    predictions: Sequence[Prediction],
    labels: Labels,
    question: Question,
    constraints: Sequence[Constraints | None],
    *,
    lift: Scheme,
) -> list[Sentence]:
    """Return new sentences with all predicted columns and with what was asked."""
    if not sentences:
        return []
    trees = _obeying(predictions, constraints, labels) if any(constraints) else best_trees(predictions)
    made = annotate(sentences, predictions, labels, lift=lift, trees=trees)
    if not question:
        return made
    scores = leaf, internal, lengths = batch([_summed(prediction) for prediction in predictions])
    log_z = decode.posteriors(*scores).log_z
    shares = np.exp(decode.tree_scores([tree.heads for tree in trees], leaf, internal) - log_z)
    for sentence, share in zip(made, shares.tolist(), strict=True):
        sentence.probability = share
    if question.probabilities:
        short = np.flatnonzero(lengths <= _LONGEST)
        arcs = decode.arc_probabilities(leaf[short], internal[short], lengths[short])
        for number, each in zip(short.tolist(), arcs, strict=True):
            _set_heads(made[number], trees[number], each.head)
    if question.k > 1:
        free = [number for number in range(len(made)) if not constraints[number]]
        # subtle: where relations are predicted jointly, the tree that is shown need not be the first of these
        for number, ranked in zip(
            free, decode.kbest(leaf[free], internal[free], lengths[free], question.k), strict=True
        ):
            others = [each for each in ranked if each.heads.tolist() != trees[number].heads][: question.k - 1]
            found = [
                Tree(each.heads.tolist(), relations_of(predictions[number], each.heads, each.tags)) for each in others
            ]
            size = len(found)
            made[number].alternatives = annotate(
                [sentences[number]] * size, [predictions[number]] * size, labels, lift=lift, trees=found
            )
            for sentence, other in zip(made[number].alternatives, others, strict=True):
                sentence.probability = float(np.exp(other.log_probability))
    for sentence in made:
        _comment(sentence)
    return made


def _summed(prediction: Prediction) -> Prediction:
    """Give a leaf tag the score of all its relations together, where they are predicted jointly."""
    relations = prediction.relations
    if relations is None or relations.shape[1] == 1:
        return prediction
    greatest = relations.max(-1, keepdims=True)
    return replace(prediction, leaf=(greatest + np.log(np.exp(relations - greatest).sum(-1, keepdims=True)))[..., 0])


def _set_heads(sentence: Sentence, tree: Tree, shares: NDArray[np.float64]) -> None:
    """Give every word the probability of its head, and the heads it could have."""
    for word, head, row in zip(sentence, tree.heads, shares, strict=True):
        word.head_probability = float(row[head])
        likeliest = np.argsort(-row, kind="stable")[:_MOST].tolist()
        word.heads = [(number, float(row[number])) for number in likeliest if row[number] >= _SHOWN]
        note = f"HeadProb={word.head_probability:.4f}"
        word.misc = note if word.misc == "_" else f"{word.misc}|{note}"


def _comment(sentence: Sentence) -> None:
    """Say in comments, as a file has them, how probable a tree is and which of several."""
    sentence.comments = [*sentence.comments, f"# tree_prob = {sentence.probability:.6g}"]
    for number, other in enumerate(sentence.alternatives, 2):
        other.comments = [
            *sentence.comments[:-1],
            f"# alternative = {number}",
            f"# tree_prob = {other.probability:.6g}",
        ]


def _obeying(
    predictions: Sequence[Prediction], constraints: Sequence[Constraints | None], labels: Labels
) -> list[Tree]:
    """Decode the best trees that obey, of sentences without constraints the best trees."""
    trees = best_trees(predictions)
    root = [number for number, is_root in enumerate(labels.root_mask) if is_root]
    for number, (prediction, known) in enumerate(zip(predictions, constraints, strict=True)):
        if not known:
            continue
        size = len(prediction.leaf)
        found = decode.best_constrained(
            prediction.leaf,
            prediction.internal[: max(0, size - 1)],
            numbered(known, labels),
            relation=prediction.relations,
            root=root,
        )
        relations = relations_of(prediction, found.heads, found.tags)
        if found.relations is not None:
            relations = found.relations.astype(np.int64)
        fixed = frozenset(known.heads) | ({known.root} if known.root is not None else frozenset())
        trees[number] = Tree(found.heads.tolist(), relations, fixed)
    return trees


def numbered(constraints: Constraints, labels: Labels) -> Constraints:
    """Turn the names of relations into their numbers."""

    def number(name: str | int) -> int:
        found = name if isinstance(name, int) else labels.relations.id(name)
        if found == MISSING:
            known = ", ".join(sorted(labels.relations)[:12])
            raise ConstraintError(f"relation '{name}' is not one that the model has: {known}, …")
        return found

    relations = {word: [number(each) for each in names] for word, names in constraints.relations.items()}
    return replace(constraints, relations=relations)


def merged(first: Constraints | None, second: Constraints) -> Constraints:
    """Put together what is known from two sides."""
    return joined([first, second]) if first else second


def known_columns(sentence: Sentence, columns: Collection[str]) -> Constraints:
    """Make constraints of the HEAD and DEPREL columns that a sentence has filled already.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "_"])
    >>> known_columns(sentence, ["head"]).heads
    {1: 2, 2: 0}
    """
    heads = {word.id: word.head for word in sentence if word.head is not None} if "head" in columns else {}
    relations = {word.id: [word.deprel] for word in sentence if word.deprel != "_"} if "deprel" in columns else {}
    return Constraints(heads=heads, relations=relations)
