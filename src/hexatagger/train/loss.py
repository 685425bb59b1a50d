"""The loss: negative log-likelihood of the gold tags, and of a teacher's soft tags.

In the base system (the paper) tags are independent given the words: one softmax per tag. But only legal sequences are
trees. With loss = "legal" (an extension) leaf and internal tags are normalised over legal sequences, by the forward
algorithm on the lattice of the decoder: the state is the stack depth after an internal tag, and a word with
the tag to its right moves it up (l L), down (r R) or not at all (l R, r L).
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from hexatagger.model.config import TrainConfig
from hexatagger.train.data import IGNORE, Batch
from hexatagger.train.network import GIVEN, JOINT, TREE
from hexatagger.train.pointers import PAIRS, POINTERS, given_head, marginal_relations

_NEVER = -1e9  # subtle: −inf would make NaN of the gradients


def total_loss(scores: Mapping[str, Tensor], batch: Batch, config: TrainConfig) -> Tensor:
    """Return the loss of a batch: the weighted sum over projections and words."""
    total = next(iter(scores.values())).new_zeros((), dtype=torch.float32)
    legal = _legal_rows(batch) if config.loss == "legal" else None
    for name, values in scores.items():
        column = "relation" if name in (GIVEN, PAIRS) else name
        if column not in batch.targets:  # a teacher may not predict a task
            continue
        values = values.float()
        weight = 1.0 if name in TREE else config.pointer_weight if name in POINTERS else config.task_weight
        if name == "relation" and GIVEN in scores:  # only constraints need it then
            weight = config.task_weight
        soft, targets = batch.soft.get(column), batch.targets[column]
        if legal is not None and name in ("leaf", "internal", JOINT):
            targets = targets.masked_fill(legal.unsqueeze(1), IGNORE)  # counted below
        known = values
        if name in (GIVEN, PAIRS):
            outside = batch.targets["head"] == IGNORE
            targets = targets.masked_fill(outside, IGNORE)
        if name == GIVEN and soft:
            soft = soft[0], soft[1] * ~outside.unsqueeze(-1)
        if name == PAIRS:
            known = given_head(values, batch.targets["head"].clamp(min=0))
            values = marginal_relations(values, scores["head"].float()) if soft else known
        hard = functional.cross_entropy(known.transpose(1, 2), targets, ignore_index=IGNORE, reduction="none")
        if soft:
            ids, shares = soft
            taught = -(values.log_softmax(-1).gather(-1, ids) * shares).sum(-1)
            share = config.teacher_weight * (shares.sum(-1) > 0)
            hard = (1 - share) * hard + share * taught
        total = total + weight * hard.sum()
    if legal is not None and legal.any():
        whole = legal_loss(scores, batch)
        if taught_rows := batch.soft.get(JOINT if JOINT in scores else "leaf"):
            whole = whole * (1 - config.teacher_weight * (taught_rows[1].sum((1, 2)) > 0))
        total = total + whole[legal].sum()
    return total


def _legal_rows(batch: Batch) -> Tensor:
    """Say which rows are whole sentences with all their tags: only those have a legal gold sequence."""
    first = batch.targets[JOINT if JOINT in batch.targets else "leaf"]
    places = torch.arange(first.shape[1], device=first.device)
    inside = places < batch.inputs["lengths"].unsqueeze(1)
    return batch.whole & ((first != IGNORE) | ~inside).all(1)


def legal_loss(scores: Mapping[str, Tensor], batch: Batch) -> Tensor:
    """Return −log p(gold tags | legal) of every row: (batch,); meaningless for rows without a whole gold sequence."""
    name = JOINT if JOINT in scores else "leaf"
    own, internal = scores[name].float(), scores["internal"].float()
    leaf = own.reshape(*own.shape[:-1], 2, -1).logsumexp(-1)  # over relations; a plain leaf tag has one column
    gold = _picked(own, batch.targets[name]) + _picked(internal, batch.targets["internal"])
    return log_partition(leaf, internal, batch.inputs["lengths"]) - gold.sum(1)


def _picked(scores: Tensor, targets: Tensor) -> Tensor:
    """Return the score of the gold label of every word, 0 if there is none: (batch, words)."""
    chosen = scores.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    return chosen.masked_fill(targets == IGNORE, 0.0)


def log_partition(leaf: Tensor, internal: Tensor, lengths: Tensor) -> Tensor:
    """Return log Z, the log-partition over all legal sequences, per sentence: (batch,).

    `leaf` is (batch, words, 2), `internal` (batch, words or one less, 4), `lengths` (batch,), at least 1.

    >>> log_partition(torch.zeros(1, 2, 2), torch.zeros(1, 1, 4), torch.tensor([2])).exp().round()  # l L· r: two
    tensor([2.])
    """
    words = leaf.shape[1]
    if words == 1:
        return leaf[:, 0, 0]
    over, under = (internal[:, : words - 1, part].logsumexp(-1) for part in (slice(2), slice(2, 4)))  # L·, R·
    left, right = leaf[:, :-1, 0], leaf[:, :-1, 1]
    up, down = left + over, right + under
    stay = torch.logaddexp(left + under, right + over)
    depths = (words + 1) // 2  # no legal sequence goes deeper
    # depth d is column d − 1; the first word is l and then L·, or the stack would be empty
    alpha = functional.pad(up[:, :1], (0, depths - 1), value=_NEVER)
    for word in range(1, words - 1):
        wide = functional.pad(alpha, (1, 1), value=_NEVER)
        ways = (wide[:, :-2], up), (wide[:, 1:-1], stay), (wide[:, 2:], down)
        moves = torch.stack([depth + move[:, word, None] for depth, move in ways])
        # the last word of a sentence has no internal tag: its depths stay as they are
        alpha = torch.where((lengths > word + 1).unsqueeze(1), moves.logsumexp(0), alpha)
    last = leaf[..., 1].gather(1, (lengths - 1).unsqueeze(1)).squeeze(1)
    return torch.where(lengths > 1, alpha[:, 0] + last, leaf[:, 0, 0])
