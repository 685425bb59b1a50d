"""The loss over legal sequences against brute force, and what each loss counts."""

import itertools
import math

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")

import torch

from hexatagger.model.config import Recipe, TrainConfig
from hexatagger.parsing.pieces import Grams
from hexatagger.sentence import Sentence
from hexatagger.tags import is_legal
from hexatagger.train.data import IGNORE, Batch, collate, collect_labels, encode, ignore_all
from hexatagger.train.loss import legal_loss, log_partition, total_loss
from hexatagger.train.network import Network


def by_hand(leaf: torch.Tensor, internal: torch.Tensor, words: int) -> torch.Tensor:
    """Sum over all legal sequences, one by one."""
    weights = []
    for tags in itertools.product(*([range(2), range(2, 6)] * words)[:-1]):
        if is_legal(tags):
            scores = [
                leaf[place // 2, tag] if place % 2 == 0 else internal[place // 2, tag - 2]
                for place, tag in enumerate(tags)
            ]
            weights.append(torch.stack(scores).sum())
    return torch.stack(weights).logsumexp(0)


def test_log_partition_and_its_gradient_against_brute_force() -> None:
    torch.manual_seed(0)
    leaf = torch.randn(5, 5, 2, dtype=torch.float64, requires_grad=True)
    internal = torch.randn(5, 5, 4, dtype=torch.float64, requires_grad=True)
    found = log_partition(leaf, internal, torch.tensor([1, 2, 3, 4, 5]))
    expected = torch.stack([by_hand(leaf[row], internal[row], row + 1) for row in range(5)])
    assert torch.allclose(found, expected)
    got = torch.autograd.grad(found.sum(), (leaf, internal))
    wanted = torch.autograd.grad(expected.sum(), (leaf, internal))
    for ours, theirs in zip(got, wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-9)


def test_log_partition_counts_the_legal_sequences() -> None:
    words = 60
    found = log_partition(torch.zeros(1, words, 2, dtype=torch.float64), torch.zeros(1, words, 4, dtype=torch.float64),
                          torch.tensor([words]))  # fmt: skip
    # As many as there are binary trees, times two for the head of every internal node.
    trees = math.comb(2 * (words - 1), words - 1) // words
    assert math.isclose(found.item(), math.log(trees) + (words - 1) * math.log(2), rel_tol=1e-12)


def test_one_word_and_extreme_scores() -> None:
    leaf = torch.full((2, 3, 2), -1e4, requires_grad=True)
    loss = log_partition(leaf, torch.full((2, 2, 4), 1e4), torch.tensor([3, 1]))
    torch.autograd.backward(loss.sum())
    assert leaf.grad is not None
    assert torch.isfinite(leaf.grad).all()
    assert log_partition(torch.ones(1, 1, 2), torch.zeros(1, 0, 4), torch.tensor([1])).item() == 1


def make_batch(relations: str, **settings: int) -> tuple[Network, Batch]:
    model = {"relations": relations, "char_width": 8, "char_buckets": 50, **settings}
    config = Recipe.from_dict({"model": model}).model
    sentences = [
        Sentence.from_words(["What", "did", "she", "say", "happened"], heads=[5, 4, 4, 0, 4], deprels=list("aabcd")),
        Sentence.from_words(["Hi"], heads=[0], deprels=["c"]),
    ]
    torch.manual_seed(0)
    labels = collect_labels(sentences, config)
    examples = [encode(each, config, labels, Grams(50), gold=True) for each in sentences]
    return Network(config, labels).eval(), collate([(each, each.windows[0]) for each in examples])


@pytest.mark.parametrize("relations", ["joint", "separate"])
def test_legal_loss_is_the_plain_loss_less_what_is_illegal(relations: str) -> None:
    network, batch = make_batch(relations)
    scores = network(**batch.inputs)
    plain = total_loss(scores, batch, TrainConfig())
    legal = total_loss(scores, batch, TrainConfig(loss="legal"))
    leaf_name = "joint" if relations == "joint" else "leaf"
    leaf = scores[leaf_name].log_softmax(-1)
    leaf = leaf.reshape(*leaf.shape[:-1], 2, -1).logsumexp(-1)
    share = log_partition(leaf, scores["internal"].log_softmax(-1), batch.inputs["lengths"])  # log of the legal share
    assert (share < 0).all()
    assert torch.allclose(plain + share.sum(), legal, atol=1e-4)
    assert (legal_loss(scores, batch) >= 0).all()


def test_rows_that_are_not_whole_take_the_plain_loss() -> None:
    network, batch = make_batch("separate")
    batch.whole[:] = False
    scores = network(**batch.inputs)
    assert torch.equal(total_loss(scores, batch, TrainConfig()), total_loss(scores, batch, TrainConfig(loss="legal")))


def test_a_teacher_that_is_sure_of_the_gold_changes_nothing() -> None:
    network, batch = make_batch("separate")
    scores = network(**batch.inputs)
    plain = total_loss(scores, batch, TrainConfig())
    for name, target in batch.targets.items():
        ids = target.clamp(min=0).unsqueeze(-1)
        batch.soft[name] = ids, (target != IGNORE).float().unsqueeze(-1)
    assert torch.allclose(total_loss(scores, batch, TrainConfig(teacher_weight=0.6)), plain, rtol=1e-5)
    assert total_loss(scores, ignore_all(batch), TrainConfig(teacher_weight=0.6)).item() == 0


def test_what_is_looked_at_counts_with_its_weight() -> None:
    network, batch = make_batch("separate", hidden=8, pointers=8)
    network.train()
    scores = network(**batch.inputs)
    without, half, whole = (
        total_loss(scores, batch, TrainConfig(pointer_weight=weight)).item() for weight in (0.0, 0.5, 1.0)
    )
    # The forms begin at zero: all places are equally likely. Six heads and, for each of the four gaps, the gap above,
    # its governor and its dependent, among none and all that can be looked at.
    expected = 5 * math.log(5) + 1 * math.log(1) + 4 * (math.log(4) + 2 * math.log(6))
    assert math.isclose(whole - without, expected, rel_tol=1e-4)
    assert math.isclose(half - without, expected / 2, rel_tol=1e-4)
    assert {"head", "above", "governor", "dependent"} & set(network.eval()(**batch.inputs)) == {"head"}


def test_relations_are_learnt_for_the_gold_head() -> None:
    network, batch = make_batch("pairs", hidden=8, pointers=8)
    torch.nn.init.normal_(network.get_parameter("pairs.form"))
    torch.nn.init.normal_(network.get_parameter("around.each.head.form"))
    scores = network.train()(**batch.inputs)
    others = {name: values for name, values in scores.items() if name not in ("pairs", "relation")}
    expected = 0.0
    for row, heads in enumerate(([4, 4, 4, 0, 4], [0])):  # of the tree without crossing arcs
        for word, head in enumerate(heads):
            target = batch.targets["relation"][row, word]
            expected -= scores["pairs"][row, word, head].log_softmax(-1)[target].item()
    found = total_loss(scores, batch, TrainConfig()) - total_loss(others, batch, TrainConfig())
    assert math.isclose(found.item(), expected, rel_tol=1e-4)
    batch.targets["head"][0] = IGNORE  # outside of a window: nothing is known of the relation either
    rest = total_loss(scores, batch, TrainConfig()) - total_loss(others, batch, TrainConfig())
    alone = scores["pairs"][1, 0, 0].log_softmax(-1)[batch.targets["relation"][1, 0]].item()
    assert math.isclose(rest.item(), -alone, rel_tol=1e-4)
