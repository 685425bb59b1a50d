"""Prediction → Tree, with more than the best tree: probabilities, k-best trees, constraints.

Every number comes from an exact program over the same scores as the best tree, renormalised over all legal tag
sequences, or over those that obey the constraints. Probabilities have the model's temperature (see `calibrate`).

    tags alone               the lattice (`decode.kbest`, `log_partition`, `arc_probabilities`), all sentences at once.
                             Head probabilities are exact up to EXACT_HEADS words, sampled in longer sentences, and
                             left out beyond HEAD_TABLE words.
    tags + pointer scores    the chart, O(N⁴), one sentence at a time: the exact form of the objective that `choose`
                             approximates by reranking. The tree of `choose` stays the first one even if the chart has
                             a better one, so that asking for more never changes the tree. Sentences of more than
                             EXACT_HEADS words get the probabilities of the tags alone.
    constraints              the chart. Probabilities are given the constraints.

Probabilities are those of the tree as it was decoded: where crossing arcs were lifted, the probability of a word's head
is that of the arc that it was restored from.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hexatagger import decode
from hexatagger.decode import Arcs, Constraints
from hexatagger.decode.arcs import LEAST
from hexatagger.decode.chart.constraints import allowed_arcs, obeys
from hexatagger.decode.lattice import Scores
from hexatagger.decode.limits import EXACT_HEADS, HEAD_TABLE
from hexatagger.decode.tree_scores import tree_scores_unchecked
from hexatagger.errors import ConstraintError
from hexatagger.model.labels import MISSING, Labels
from hexatagger.model.temperature import Temperature
from hexatagger.parsing.choose import Tree, best_trees, label_trees
from hexatagger.parsing.predictions import Prediction, tag_scores
from hexatagger.sentence import Sentence


def probable_trees(
    predictions: Sequence[Prediction],
    labels: Labels,
    constraints: Sequence[Constraints | None],
    *,
    probabilities: bool,
    k: int,
    temperature: Temperature,
) -> list[Tree]:
    """Return the best tree of every sentence that obeys its constraints, with what is asked for.

    `k` > 1 asks for the next best trees and all their probabilities, `probabilities` also for those of every head.
    """
    trees = best_trees(predictions)
    more, by_lattice = probabilities or k > 1, []
    root = np.flatnonzero(labels.root_mask).tolist()
    for number, (prediction, known) in enumerate(zip(predictions, constraints, strict=True)):
        if known or (more and _pointer_scores(prediction) is not None):
            known = numbered(known or Constraints(), labels)
            trees[number] = _by_chart(prediction, trees[number], known, root, probabilities, k, temperature)
        elif more and len(prediction):  # a sentence without words has no tree
            by_lattice.append(number)
    if by_lattice:
        chosen = [predictions[number] for number in by_lattice]
        _by_lattice(chosen, [trees[number] for number in by_lattice], probabilities, k, temperature)
    for tree in trees if k > 1 else ():
        tree.others.sort(key=lambda other: -(other.probability or 0.0))  # they were ranked by their best sequence
    return trees


def _by_lattice(
    predictions: Sequence[Prediction], trees: Sequence[Tree], probabilities: bool, k: int, temperature: Temperature
) -> None:
    """Complete the best trees of sentences by the scores of their tags alone."""
    scores = leaf, internal, lengths = tag_scores(predictions, temperature.tags)
    totals = decode.log_partition(*scores)
    sums = tree_scores_unchecked([np.array(tree.heads) for tree in trees], leaf, internal, np.arange(len(trees)))
    for tree, share in zip(trees, np.exp(np.minimum(sums - totals, 0.0)).tolist(), strict=True):
        tree.probability = share
    if probabilities:
        short = np.flatnonzero(lengths <= HEAD_TABLE)
        arcs = decode.arc_probabilities(leaf[short], internal[short], lengths[short], leaf_tags=False)
        for number, each in zip(short.tolist(), arcs, strict=True):
            trees[number].head_probabilities, trees[number].samples = each.head, each.samples
    if k > 1:
        others = [
            (number, ranked)
            for number, listed in enumerate(decode.kbest(*scores, k, log_partitions=totals))
            # subtle: if deprels are predicted jointly, the best tree need not be the first of these
            for ranked in [each for each in listed if each.heads.tolist() != trees[number].heads][: k - 1]
        ]
        owners = [predictions[number] for number, _ in others]
        named = label_trees(owners, [ranked.heads for _, ranked in others], [ranked.tags for _, ranked in others])
        for (number, ranked), tree in zip(others, named, strict=True):
            tree.probability = math.exp(ranked.log_probability)
            trees[number].others.append(tree)


def _by_chart(
    prediction: Prediction,
    chosen: Tree,
    known: Constraints,
    root: Collection[int],
    probabilities: bool,
    k: int,
    temperature: Temperature,
) -> Tree:
    """Return the best tree that obeys, by the scores of tags and pointers; `chosen` itself if it was reranked."""
    words, pointers = len(prediction), _pointer_scores(prediction)
    leaf, internal = prediction.leaf, prediction.internal[: words - 1]
    deprels = _beside_leaf(leaf, prediction.relations, Temperature())
    rank = partial(decode.kbest_constrained, leaf, internal, deprel=deprels, root=root)
    decode.check_constraints(known, words, root=root)
    ranked: list[decode.ConstrainedTree] = []
    if prediction.head is not None and obeys(chosen.heads, allowed_arcs(known, words, root=root), known.spans):
        ranked = rank(replace(known, heads=dict(enumerate(chosen.heads, 1))), 1)
    if len(ranked) < k:
        first = [each.heads.tolist() for each in ranked]
        ranked += [each for each in rank(known, k, head_scores=pointers) if each.heads.tolist() not in first]
        del ranked[k:]
    trees = label_trees([prediction] * len(ranked), [each.heads for each in ranked], [each.tags for each in ranked])
    constrained = [word - 1 for word in known.relations]
    for tree, each in zip(trees, ranked, strict=True):
        tree.fixed = frozenset(known.heads) | ({known.root} if known.root is not None else frozenset())
        if each.deprels is not None:
            tree.deprels[constrained] = each.deprels[constrained]
    best, best.others = trees[0], trees[1:]
    if probabilities or k > 1:
        leaves, nodes, _ = tag_scores([prediction], temperature.tags)
        deprels = _beside_leaf(leaves[0], prediction.relations, temperature)
        pointers = None if pointers is None else pointers / temperature.tags
        found = [tree.heads for tree in trees]
        given = decode.probabilities_given(
            leaves[0], nodes[0], known, found, deprel=deprels, root=root, head_scores=pointers
        )
        for tree, share in zip(trees, np.exp(given.trees).tolist(), strict=True):
            tree.probability = share
        if probabilities:
            best.head_probabilities = given.head
    return best


def arc_probabilities(predictions: Sequence[Prediction], temperature: float, *, leaf_tags: bool) -> list[Arcs]:
    """Return the probability of every head of every word, as `decode.arc_probabilities`, pointer scores included."""
    scores = leaf, internal, _ = tag_scores(predictions, temperature)
    found = decode.arc_probabilities(*scores, leaf_tags=leaf_tags)
    for row, prediction in enumerate(predictions):
        if (pointers := _pointer_scores(prediction)) is not None:
            given = decode.probabilities_given(
                leaf[row, : len(pointers)], internal[row], Constraints(), head_scores=pointers / temperature
            )
            # Pointers say nothing about the leaf tag that goes with a head: that share is the tags' alone.
            sides = found[row].joint / np.maximum(found[row].head, LEAST)[:, None]
            found[row] = Arcs(sides * given.head[:, None], 0)
    return found


def _pointer_scores(prediction: Prediction) -> Scores | None:
    """Return the pointer scores of every head, (words, words + 1), if there are any and a chart is affordable."""
    words = len(prediction)
    if prediction.head is None or not 0 < words <= EXACT_HEADS:
        return None
    return prediction.head[:, : words + 1].astype(np.float64)


def _beside_leaf(leaf: NDArray[Any], deprels: NDArray[Any] | None, temperature: Temperature) -> NDArray[Any] | None:
    """Return what deprels add to the scores of leaf tags, which already include deprels predicted jointly."""
    if deprels is None:
        return None
    joint = deprels.shape[1] == 2
    return np.asarray(deprels / temperature.tags - leaf[..., None] if joint else deprels / temperature.relations)


def numbered(constraints: Constraints, labels: Labels) -> Constraints:
    """Replace the names of deprels in constraints by their numbers."""

    def number(name: str | int) -> int:
        found = name if isinstance(name, int) else labels.relations.ids([name])[0]
        if found == MISSING:
            known = ", ".join(sorted(labels.relations)[:12])
            raise ConstraintError(f"the model has no relation '{name}': it has {known}, …")
        return found

    deprels = {word: [number(each) for each in names] for word, names in constraints.relations.items()}
    return replace(constraints, relations=deprels)


def column_constraints(sentence: Sentence, columns: Collection[str]) -> Constraints:
    """Make constraints of the filled HEAD ("head") and DEPREL ("deprel") columns of a sentence.

    >>> sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "_"])
    >>> column_constraints(sentence, ["head"]).heads
    {1: 2, 2: 0}
    """
    heads = {word.id: word.head for word in sentence if word.head is not None} if "head" in columns else {}
    deprels = {word.id: [word.deprel] for word in sentence if word.deprel != "_"} if "deprel" in columns else {}
    return Constraints(heads=heads, relations=deprels)
