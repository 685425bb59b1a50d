"""More than one tree: how sure the parser is, what else it could be, and what is known already.

All of it comes from the same scores as the best tree, renormalised over legal tag sequences (see `decode`), or over
those that obey what is known of the sentence. For probabilities the scores are divided by the temperature of the model
(see `calibrate`), which changes no tree and no order of trees.

Where words point at their heads, what they say is added to the scores of tags, as in the choice of the tree; then heads
must be known, and every sentence takes a chart of its own (see `decode.constrained`). Of longer sentences than those
that are done exactly, probabilities are those of the tags alone.

Probabilities are of the tree as it was decoded: where crossing arcs were lifted, the probability of a word's head is
that of the arc it was read off from.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.decode import Arcs, Constraints
from hexatagger.decode.arcs import EXACT_WORDS, LEAST
from hexatagger.decode.chart.constraints import allowed_arcs, joined, obeys
from hexatagger.decode.tree_scores import tree_scores_unchecked
from hexatagger.errors import ConstraintError
from hexatagger.model.labels import MISSING, Labels
from hexatagger.model.temperature import Temperature
from hexatagger.parsing.pieces import Ints
from hexatagger.parsing.write import Prediction, Tree, batch, best_trees, labelled, writer
from hexatagger.sentence import Sentence
from hexatagger.tags import Scheme

Scores = NDArray[np.float64]

_SHOWN = 0.01
"""Heads less probable than this are not listed."""
_MOST = 8
"""How many heads of a word are listed."""
_LONGEST = 2000
"""Words of a longer sentence get no probabilities: a table of every word with every head would not fit."""
_NOTE, _TREE_NOTES = "HeadProb=", ("# tree_prob =", "# alternative =")
"""How files say it: in MISC, and in comments."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked beyond the best tree."""

    probabilities: bool = False
    """How probable every head and the tree are."""
    k: int = 1
    """How many trees."""
    temperature: Temperature = field(default_factory=Temperature)
    """What scores are divided by for probabilities."""

    def __bool__(self) -> bool:
        return self.probabilities or self.k > 1


@dataclass(slots=True)
class _Answer:
    """What was found out about one sentence."""

    tree: Tree
    probability: float | None = None
    heads: Scores | None = None
    """Probability of every head of every word: (words, words + 1)."""
    others: list[tuple[Tree, float]] = field(default_factory=list)
    """The next best trees, by their best sequences, and their probabilities."""


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
    answers = [_Answer(tree) for tree in best_trees(predictions)] if predictions else []
    together = []
    for number, (prediction, known) in enumerate(zip(predictions, constraints, strict=True)):
        if known or (question and _votes(prediction) is not None):
            answers[number] = _alone(prediction, answers[number].tree, known or Constraints(), labels, question)
        else:
            together.append(number)
    if question and together:
        _together([predictions[number] for number in together], [answers[number] for number in together], question)
    made = []
    for sentence, prediction, found in zip(sentences, predictions, answers, strict=True):
        write = writer(sentence, prediction, labels, lift=lift)
        parsed = write(found.tree)
        for tree, probability in sorted(found.others, key=lambda other: -other[1]):
            parsed.alternatives.append(write(tree))
            parsed.alternatives[-1].probability = probability
        if found.heads is not None:
            _set_heads(parsed, found.tree, found.heads)
        if found.probability is not None:
            parsed.probability = found.probability
            _comment(parsed)
        made.append(parsed)
    return made


def _together(predictions: Sequence[Prediction], answers: Sequence[_Answer], question: Question) -> None:
    """Complete the answers for sentences of which nothing is known and whose words have no votes, all at once."""
    trees = [found.tree for found in answers]
    scores = leaf, internal, lengths = tag_scores(predictions, question.temperature.tags)
    totals = decode.log_z(*scores)
    sums = tree_scores_unchecked([np.array(tree.heads) for tree in trees], leaf, internal, np.arange(len(trees)))
    for found, share in zip(answers, np.exp(np.minimum(sums - totals, 0.0)).tolist(), strict=True):
        found.probability = share
    if question.probabilities:
        short = np.flatnonzero(lengths <= _LONGEST)
        arcs = decode.arc_probabilities(leaf[short], internal[short], lengths[short], leaf_tags=False)
        for number, each in zip(short.tolist(), arcs, strict=True):
            answers[number].heads = each.head
    if question.k > 1:
        others = [
            (number, ranked)
            for number, listed in enumerate(decode.kbest(*scores, question.k, totals=totals))
            # subtle: where relations are predicted jointly, the tree that is shown need not be the first of these
            for ranked in [each for each in listed if each.heads.tolist() != trees[number].heads][: question.k - 1]
        ]
        named = labelled(
            [predictions[number] for number, _ in others],
            [ranked.heads for _, ranked in others],
            [ranked.tags for _, ranked in others],
        )
        shares = np.exp([ranked.log_probability for _, ranked in others]).tolist()
        for (number, _), tree, share in zip(others, named, shares, strict=True):
            answers[number].others.append((tree, share))


def _alone(prediction: Prediction, best: Tree, constraints: Constraints, labels: Labels, question: Question) -> _Answer:
    """Answer for a sentence of which something is known, and probabilities are given that; or whose words vote."""
    known = numbered(constraints, labels)
    root = [number for number, is_root in enumerate(labels.root_mask) if is_root]
    leaf, internal = prediction.leaf, prediction.internal[: len(prediction.leaf) - 1]
    relations, votes = _on_top_of(leaf, prediction.relations, Temperature()), _votes(prediction)
    decode.check_constraints(known, len(leaf), root=root)
    ranked: list[decode.Constrained] = []
    if prediction.head is not None and obeys(best.heads, allowed_arcs(known, len(leaf), root=root), known.spans):
        # It stays as it is: what is true of it already must not change it.
        same = replace(known, heads=dict(enumerate(best.heads, 1)))
        ranked = decode.kbest_constrained(leaf, internal, same, 1, relation=relations, root=root)
    if len(ranked) < question.k:
        others = decode.kbest_constrained(leaf, internal, known, question.k, relation=relations, root=root, votes=votes)
        first = [each.heads.tolist() for each in ranked]
        ranked = [*ranked, *(each for each in others if each.heads.tolist() not in first)][: question.k]
    named = labelled([prediction] * len(ranked), [each.heads for each in ranked], [each.tags for each in ranked])
    fixed = frozenset(known.heads) | ({known.root} if known.root is not None else frozenset())
    told = [word - 1 for word in known.relations]
    for tree, each in zip(named, ranked, strict=True):
        if each.relations is not None:
            tree.relations[told] = each.relations[told]
    trees = [replace(tree, fixed=fixed) for tree in named]
    found = _Answer(trees[0])
    if question:
        leaves, nodes, _ = tag_scores([prediction], question.temperature.tags)
        relations = _on_top_of(leaves[0], prediction.relations, question.temperature)
        votes = None if votes is None else votes / question.temperature.tags
        listed = [tree.heads for tree in trees]
        given = decode.probabilities_given(
            leaves[0], nodes[0], known, listed, relation=relations, root=root, votes=votes
        )
        found.probability, *others = np.exp(given.trees).tolist()
        found.others = list(zip(trees[1:], others, strict=True))
        if question.probabilities:
            found.heads = given.head
    return found


def tag_scores(predictions: Sequence[Prediction], temperature: float = 1.0) -> tuple[Scores, Scores, Ints]:
    """Return scores for probabilities, as the functions of `decode` take them: leaf, internal, lengths.

    A leaf tag has the score of all its relations together, where they are predicted jointly.
    """
    leaf, internal, lengths = batch(predictions)
    leaves, nodes = leaf.astype(np.float64) / temperature, internal.astype(np.float64) / temperature
    for row, prediction in enumerate(predictions):
        if (relations := prediction.relations) is not None and relations.shape[1] == 2:
            leaves[row, : len(relations)] = np.logaddexp.reduce(relations.astype(np.float64) / temperature, -1)
    return leaves, nodes, lengths


def _votes(prediction: Prediction) -> Scores | None:
    """Return what words say of every head, (words, words + 1), where they point and a chart can be had."""
    words = len(prediction.leaf)
    if prediction.head is None or not 0 < words <= EXACT_WORDS:
        return None
    return prediction.head[:, : words + 1].astype(np.float64)


def arc_probabilities(predictions: Sequence[Prediction], temperature: float, *, leaf_tags: bool) -> list[Arcs]:
    """Return how probable every head of every word is, by tags and votes; else as `decode.arc_probabilities`."""
    scores = leaf, internal, _ = tag_scores(predictions, temperature)
    found = decode.arc_probabilities(*scores, leaf_tags=leaf_tags)
    for row, prediction in enumerate(predictions):
        if (votes := _votes(prediction)) is not None:
            words = len(votes)
            given = decode.probabilities_given(
                leaf[row, :words], internal[row], Constraints(), votes=votes / temperature
            )
            # What leaf tag goes with a head is a question to the tags alone.
            sides = found[row].joint / np.maximum(found[row].head, LEAST)[:, None]
            found[row] = Arcs(sides * given.head[:, None], 0)
    return found


def _on_top_of(leaf: NDArray[Any], relations: NDArray[Any] | None, temperature: Temperature) -> NDArray[Any] | None:
    """Return what relations add to the scores of leaf tags: if they are predicted jointly, these have them already."""
    if relations is None:
        return None
    joint = relations.shape[1] == 2
    return np.asarray(relations / temperature.tags - leaf[..., None] if joint else relations / temperature.relations)


def _set_heads(sentence: Sentence, tree: Tree, shares: Scores) -> None:
    """Give every word the probability of its head, and the heads it could have."""
    shares = np.minimum(shares, 1.0)  # rounding
    own = shares[np.arange(len(shares)), tree.heads]
    for word, head, share in zip(sentence.words, tree.heads, own.tolist(), strict=True):
        word.head_probability, word.heads = share, [(head, share)]
        note = f"{_NOTE}{share:.4f}"
        if word.misc != "_":
            note = "|".join([*(part for part in word.misc.split("|") if not part.startswith(_NOTE)), note])
        word.misc = note
    doubtful = np.flatnonzero(own <= 1 - _SHOWN)  # of the others no further head would be listed
    likeliest = np.argsort(-shares[doubtful], axis=1, kind="stable")[:, :_MOST]
    listed = shares[doubtful[:, None], likeliest]
    for place, heads, values in zip(doubtful.tolist(), likeliest.tolist(), listed.tolist(), strict=True):
        sentence.words[place].heads = [each for each in zip(heads, values, strict=True) if each[1] >= _SHOWN]


def _comment(sentence: Sentence) -> None:
    """Say in comments, as a file has them, how probable a tree is and which of several."""
    given = [line for line in sentence.comments if not line.startswith(_TREE_NOTES)]
    sentence.comments = [*given, f"# tree_prob = {sentence.probability:.6g}"]
    for number, other in enumerate(sentence.alternatives, 2):
        other.comments = [*given, f"# alternative = {number}", f"# tree_prob = {other.probability:.6g}"]


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
