"""Answers from made-up predictions, against enumeration: no network is needed."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import brute_force
from hexatagger.decode import Constraints
from hexatagger.decode.limits import EXACT_HEADS
from hexatagger.model.labels import Labels, LabelSet
from hexatagger.model.temperature import Temperature
from hexatagger.parsing.choose import best_trees
from hexatagger.parsing.pieces import Window
from hexatagger.parsing.predictions import Prediction, stitch, tag_scores
from hexatagger.parsing.probabilities import probable_trees
from hexatagger.parsing.write import write
from hexatagger.sentence import Sentence
from hexatagger.tags import to_heads
from lattice_cases import random_problem
from same import everything

LABELS = Labels(LabelSet(["root", "nsubj", "obj"]))
SIZE = 4
WARM = Temperature(tags=1.7, relations=1.3)


def predicted(seed: int, *, joint: bool, size: int = SIZE) -> Prediction:
    """What a network could say of a sentence."""
    randomness = np.random.default_rng(seed)
    leaf, internal = random_problem(size, seed)
    relations = randomness.normal(size=(size, 2 if joint else 1, 3), scale=2)
    if joint:
        relations -= np.logaddexp.reduce(relations, (1, 2), keepdims=True)
        leaf = relations.max(-1)
    else:
        relations -= np.logaddexp.reduce(relations, -1, keepdims=True)
    padded = np.concatenate([internal, np.zeros((1, 4))])
    return Prediction(
        leaf.astype(np.float32),
        padded.astype(np.float32),
        relations[..., 1:].argmax(-1) + 1,
        np.zeros(relations.shape[:2], np.int64),
        relations=relations.astype(np.float32),
    )


def ask(
    prediction: Prediction, constraints: Constraints | None = None, *, temperature: Temperature = WARM, k: int = 99
) -> Sentence:
    sentence = Sentence.from_words(["w"] * len(prediction.leaf))
    return parsed([sentence], [prediction], [constraints], temperature=temperature, k=k)[0]


def parsed(
    sentences: list[Sentence],
    predictions: list[Prediction],
    constraints: Sequence[Constraints | None],
    *,
    temperature: Temperature = WARM,
    k: int = 3,
) -> list[Sentence]:
    """The whole way from predictions to sentences."""
    trees = probable_trees(predictions, LABELS, constraints, probabilities=True, k=k, temperature=temperature)
    return write(sentences, predictions, trees, LABELS, lift="head")


@pytest.mark.parametrize("seed", range(8))
def test_tags_and_pointers_choose_together(seed: int) -> None:
    prediction = predicted(seed, joint=False, size=3)  # has fewer sequences than are compared
    leaf, internal = prediction.leaf, prediction.internal
    pointed = np.random.default_rng(seed).normal(size=(3, 6)).astype(np.float32)  # of a batch with a longer sentence

    def together(tags: tuple[int, ...]) -> float:
        sums = brute_force.score(tags, leaf.tolist(), internal.tolist())
        return sums + float(pointed[np.arange(3), to_heads(tags)].sum())

    best = max(brute_force.legal_sequences(3), key=together)
    plain, [chosen] = best_trees([prediction])[0], best_trees([replace(prediction, head=pointed)])
    assert chosen.heads == to_heads(best)
    found, other = best_trees([replace(prediction, head=pointed), prediction])
    assert (found.heads, other.heads) == (chosen.heads, plain.heads)
    shown, bare = ask(replace(prediction, head=pointed)), ask(prediction)
    assert shown.heads == chosen.heads
    assert sorted(each.heads for each in (shown, *shown.alternatives)) == sorted(
        each.heads for each in (bare, *bare.alternatives)
    )


def test_what_words_say_of_their_heads_is_in_the_probabilities() -> None:
    """Tags see one tree, pointers another: where these are surer, their tree is the probable one."""
    prediction = predicted(1, joint=False)
    bare = ask(prediction)
    other = bare.alternatives[3]
    pointed = np.full((SIZE, SIZE + 1), -8, np.float32)
    pointed[np.arange(SIZE), other.heads] = 0
    shown = ask(replace(prediction, head=3 * pointed), temperature=Temperature())
    assert shown.heads == other.heads
    assert shown.probability is not None
    assert shown.probability > 0.99
    assert bare.probability is not None
    assert other.probability is not None
    assert other.probability < bare.probability
    for word in shown:
        assert word.head_probability == pytest.approx(1, abs=0.01)


def test_longer_sentences_have_the_probabilities_of_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hexatagger.parsing.probabilities.EXACT_HEADS", SIZE - 1)
    prediction = predicted(1, joint=False)
    pointed = np.random.default_rng(1).normal(size=(SIZE, SIZE + 1), scale=3).astype(np.float32)
    shown, bare = ask(replace(prediction, head=pointed)), ask(prediction)
    assert shown.heads == best_trees([replace(prediction, head=pointed)])[0].heads
    by_tags = {tuple(tree.heads): tree.probability for tree in (bare, *bare.alternatives)}
    assert shown.probability == pytest.approx(by_tags[tuple(shown.heads)])


@pytest.mark.parametrize("seed", range(8))
def test_what_is_true_of_the_chosen_tree_does_not_change_it(seed: int) -> None:
    pointed = 3 * np.random.default_rng(seed).normal(size=(SIZE, SIZE + 1)).astype(np.float32)
    prediction = replace(predicted(seed, joint=False), head=pointed)
    free = ask(prediction)
    heads = dict(enumerate(free.heads, 1))
    for known in (
        Constraints(heads={2: heads[2]}),
        Constraints(root=free.heads.index(0) + 1),
        Constraints(heads=heads),
    ):
        found, by_tags = ask(prediction, known), ask(replace(prediction, head=None), known)
        assert found.heads == free.heads
        assert sorted(each.heads for each in (found, *found.alternatives)) == sorted(
            each.heads for each in (by_tags, *by_tags.alternatives)
        )


def test_relations_may_depend_on_heads() -> None:
    pairs = np.array([[0, 1, 2, 1, 2], [0, 2, 1, 2, 1], [0, 1, 1, 2, 2], [0, 2, 2, 1, 1]])
    prediction = replace(predicted(3, joint=False), head=np.zeros((SIZE, SIZE + 1), np.float32), pairs=pairs)
    names = np.array(LABELS.relations.strings)
    found = ask(prediction)
    for tree in (found, *found.alternatives):
        assert [word.deprel for word in tree] == names[pairs[np.arange(SIZE), tree.heads]].tolist()
    word = 1 + next(place for place, head in enumerate(found.heads) if head)
    other = "obj" if found[word - 1].deprel == "nsubj" else "nsubj"
    told = ask(prediction, Constraints(heads=dict(enumerate(found.heads, 1)), relations={word: [other]}))
    assert [each.deprel for each in told] == [other if each.id == word else each.deprel for each in found]


def test_pointers_of_windows_are_left_out() -> None:
    whole = replace(predicted(1, joint=False), head=np.zeros((SIZE, SIZE + 1), np.float32))
    whole.pairs = np.zeros((SIZE, SIZE + 1), np.int64)
    none = np.zeros((SIZE, 2), np.int64)
    windows = [Window(none[:, 0], none, none[:, 0], start, (start, start + SIZE)) for start in (0, SIZE)]
    assert stitch([(windows[0], whole)]).head is not None
    joined = stitch([(window, whole) for window in windows])
    assert joined.head is None
    assert joined.pairs is None
    assert len(joined.leaf) == 2 * SIZE


Weights = dict[tuple[int, ...], float]


def expected(prediction: Prediction, constraints: Constraints, warm: Temperature) -> Weights:
    """Sum, by tree, over all legal sequences with all relations that a word may have."""
    assert prediction.relations is not None
    size, scores = len(prediction.leaf), prediction.relations.astype(np.float64)
    joint = scores.shape[1] == 2
    scores = scores / (warm.tags if joint else warm.relations)
    internal = prediction.internal.astype(np.float64) / warm.tags
    found: Weights = {}
    for tags in brute_force.legal_sequences(size):
        heads = tuple(to_heads(tags))
        if any(heads[word - 1] != head for word, head in constraints.heads.items()):
            continue
        weight = math.exp(sum(internal[place // 2, tag - 2] for place, tag in enumerate(tags) if place % 2))
        for place, side in enumerate(tags[::2]):
            row = np.exp(scores[place, side if joint else 0])
            fitting = [0] if heads[place] == 0 else [1, 2]
            allowed = constraints.relations.get(place + 1)
            kept = fitting if allowed is None else [one for one in fitting if LABELS.relations[one] in allowed]
            # A leaf tag counts with all its relations, of which those that fit have their share.
            leaf = row.sum() if joint else math.exp(prediction.leaf[place, side] / warm.tags)
            weight *= leaf * row[kept].sum() / row[fitting].sum()
            if prediction.head is not None:
                weight *= math.exp(prediction.head[place, heads[place]] / warm.tags)
        if weight:
            found[heads] = found.get(heads, 0.0) + weight
    z = math.fsum(found.values())
    return {heads: weight / z for heads, weight in found.items()}


def heads_of(weights: Weights) -> NDArray[np.float64]:
    shares = np.zeros((SIZE, SIZE + 1))
    for heads, weight in weights.items():
        shares[np.arange(SIZE), heads] += weight
    return shares


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("votes", [False, True])
@pytest.mark.parametrize(
    "known",
    [
        Constraints(),
        Constraints(heads={2: 3}),
        Constraints(relations={1: ["obj"], 3: ["nsubj", "obj"]}),
        Constraints(heads={4: 1}, relations={1: ["root", "obj"], 2: ["nsubj"]}),
    ],
)
def test_trees_and_heads_have_the_probabilities_of_enumeration(joint: bool, votes: bool, known: Constraints) -> None:
    for seed in range(5):
        prediction = predicted(seed, joint=joint)
        if votes:
            said = np.random.default_rng(seed).normal(size=(SIZE, SIZE + 3), scale=2)  # wider than it need be
            prediction = replace(prediction, head=said.astype(np.float32))
        weights = expected(prediction, known, WARM)
        found = ask(prediction, known)
        trees = [found, *found.alternatives]
        assert len({tuple(tree.heads) for tree in trees}) == len(trees) == len(weights)
        for tree in trees:
            assert tree.probability == pytest.approx(weights[tuple(tree.heads)], rel=1e-4, abs=1e-7)
            assert all(tree[word - 1].deprel in allowed for word, allowed in known.relations.items())
        shares = heads_of(weights)
        for word in found:
            assert word.head_probability == pytest.approx(shares[word.id - 1, word.head or 0], abs=1e-5)
            assert word.heads is not None
            assert all(share == pytest.approx(shares[word.id - 1, head], abs=1e-5) for head, share in word.heads)
            assert len(word.heads) == (shares[word.id - 1] >= 0.01).sum()


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("known", [None, Constraints(heads={2: 3}), Constraints(relations={2: ["obj"]})])
def test_the_temperature_changes_probabilities_and_no_tree(joint: bool, known: Constraints | None) -> None:
    changed = 0
    for seed in range(10):
        prediction = predicted(seed, joint=joint, size=9)
        one, other = (ask(prediction, known, temperature=warm, k=5) for warm in (Temperature(), Temperature(2.5, 0.6)))
        assert (one.heads, one.deprels) == (other.heads, other.deprels)
        for found in (one, other):
            shares = [tree.probability for tree in found.alternatives]
            assert shares == sorted(shares, key=lambda share: -(share or 0))
        if not joint:  # the others are ranked with all relations of a leaf tag taken together
            assert sorted(tree.heads for tree in one.alternatives) == sorted(tree.heads for tree in other.alternatives)
        assert one.probability is not None
        assert other.probability is not None
        changed += other.probability != pytest.approx(one.probability)
    assert changed == 10


def test_fixed_heads_are_certain() -> None:
    prediction = predicted(1, joint=False)
    found = ask(prediction, Constraints(heads={2: 3, 3: 1}))
    assert [word.head_probability for word in found.words[1:3]] == pytest.approx([1, 1])
    whole = ask(prediction, Constraints(heads=dict(enumerate(found.heads, 1))))
    assert (whole.probability, whole.alternatives) == (1, [])
    assert whole[0].heads == [(found[0].head, 1.0)]


def test_sentences_with_and_without_constraints_go_together() -> None:
    predictions = [predicted(seed, joint=False, size=size) for seed, size in enumerate((3, 5, 1, 4))]
    sentences = [Sentence.from_words(["w"] * len(each.leaf)) for each in predictions]
    known = [None, Constraints(root=2), Constraints(root=1), None]
    together = parsed(sentences, predictions, known)
    for sentence, prediction, one, made in zip(sentences, predictions, known, together, strict=True):
        [alone] = parsed([sentence], [prediction], [one])
        assert everything(made) == everything(alone)


def test_no_word_belongs_to_two_trees() -> None:
    found = ask(predicted(1, joint=False), k=5)
    words = [id(word) for tree in (found, *found.alternatives) for word in tree]
    assert len(set(words)) == len(words) == 5 * SIZE


def test_what_was_said_before_is_said_anew() -> None:
    prediction = predicted(1, joint=False)
    sentence = ask(prediction, k=2)
    sentence.comments.insert(0, "# sent_id = 1")
    sentence[0].misc = "SpaceAfter=No|" + sentence[0].misc
    [again] = parsed([sentence], [prediction], [None], k=2, temperature=Temperature(tags=3.0))
    assert again.comments == ["# sent_id = 1", f"# tree_prob = {again.probability:.6g}"]
    assert again[0].misc == f"SpaceAfter=No|HeadProb={again[0].head_probability:.4f}"
    [other] = again.alternatives
    assert other.comments[:2] == ["# sent_id = 1.alt2", "# alternative = 2"]
    assert other.comments[2:] == [f"# tree_prob = {other.probability:.6g}"]
    assert len(sentence.alternatives) == 1


@pytest.mark.parametrize("joint", [False, True])
def test_scores_of_tags_are_tempered_and_have_all_relations(joint: bool) -> None:
    prediction = predicted(3, joint=joint)
    assert prediction.relations is not None
    leaf, internal, lengths = tag_scores([prediction, predicted(4, joint=joint, size=2)], 1.7)
    assert lengths.tolist() == [SIZE, 2]
    expected = np.log(np.exp(prediction.relations / 1.7).sum(-1)) if joint else prediction.leaf / 1.7
    np.testing.assert_allclose(leaf[0], expected, rtol=1e-5)
    np.testing.assert_allclose(internal[0], prediction.internal / 1.7, rtol=1e-5)


def test_sampled_probabilities_say_so() -> None:
    exact = ask(predicted(1, joint=False))
    assert exact.head_samples == 0
    assert exact.comment("head_prob") is None
    sampled = ask(predicted(1, joint=False, size=EXACT_HEADS + 1), k=1)
    assert sampled.head_samples == 1000
    assert sampled.comment("head_prob") == "sampled, 1000 trees, standard error at most 0.0158"
    assert Sentence.from_dict(sampled.to_dict()).head_samples == 1000
