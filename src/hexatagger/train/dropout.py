"""Dropout that draws one random byte per number: on a CPU, torch's own took a tenth of training a small model."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Dropout(nn.Module):
    """Set a share of the numbers to 0 in training, to a precision of 1/256, and scale the others up.

    >>> round(Dropout(0.33)(torch.ones(100, 100)).max().item(), 4)  # 84 of 256 are dropped
    1.4884
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, numbers: Tensor) -> Tensor:
        """Return the numbers with some set to 0."""
        if not self.training or not self.share:
            return numbers
        if numbers.device.type != "cpu":
            return functional.dropout(numbers, self.share)
        count, dropped = numbers.numel(), min(255, max(1, round(256 * self.share)))
        # subtle: without a lower bound, the sign bit of 64-bit integers is never set
        random = torch.empty(-(-count // 8), dtype=torch.int64).random_(-(2**63), None)
        kept = random.view(torch.uint8)[:count].view(numbers.shape) >= dropped
        return numbers * kept.to(numbers.dtype).mul_(256 / (256 - dropped))
