"""Dropout: the share, the scale, and that no number depends on another."""

import pytest

pytest.importorskip("torch", reason="learning needs the extra 'train'")

import torch

from hexatagger.train.dropout import Dropout


@pytest.mark.parametrize("share", [0.1, 0.33, 0.5])
def test_the_share_is_dropped_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(1)
    made = Dropout(share)(torch.ones(997, 1001))  # a number of numbers that 8 does not divide
    assert (made == 0).float().mean().item() == pytest.approx(share, abs=0.005)
    assert made.mean().item() == pytest.approx(1, abs=0.01)


def test_no_number_depends_on_its_place() -> None:
    torch.manual_seed(1)
    made = torch.stack([Dropout(0.5)(torch.ones(16)) for _ in range(4000)])
    assert (made == 0).float().mean(0).tolist() == pytest.approx([0.5] * 16, abs=0.05)
    together = ((made == 0).float().T @ (made == 0).float() / 4000)[~torch.eye(16, dtype=torch.bool)]
    assert together.tolist() == pytest.approx([0.25] * 240, abs=0.05)


def test_the_same_seed_gives_the_same_mask() -> None:
    layer, numbers = Dropout(0.33), torch.randn(10, 20)
    made = [(torch.manual_seed(seed), layer(numbers))[1] for seed in (3, 3, 4)]
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2])


def test_gradients_pass_where_numbers_stay() -> None:
    numbers = torch.ones(50, 50, requires_grad=True)
    made = Dropout(0.33)(numbers)
    made.sum().backward()
    assert numbers.grad is not None
    assert torch.equal(numbers.grad, made.detach())


@pytest.mark.parametrize("share", [0.0, 0.33])
def test_nothing_is_dropped_outside_training(share: float) -> None:
    numbers = torch.randn(10, 20)
    assert torch.equal(Dropout(share).eval()(numbers), numbers)
    if not share:
        assert torch.equal(Dropout(share)(numbers), numbers)
