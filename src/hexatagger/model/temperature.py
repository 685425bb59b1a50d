"""Temperatures: what scores are divided by before they become probabilities (see `parsing.calibrate`)."""

import math
from dataclasses import dataclass

from hexatagger.errors import ConfigError

JUDGED = ("head", "head and relation")  # what calibration errors are of


@dataclass(frozen=True, slots=True)
class Temperature:
    """The temperatures of a model; 1 leaves scores as they are."""

    tags: float = 1.0
    relations: float = 1.0  # unused where they are predicted jointly with the leaf tag, since they are tags then

    def __post_init__(self) -> None:
        for name in ("tags", "relations"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ConfigError(f"temperature.{name} {value} is not above 0: hexatagger calibrate finds it again")


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted temperature with the calibration errors before and after."""

    temperature: Temperature
    fitted: int  # number of words that it was fitted on
    words: int  # number of words that it was judged on
    before: tuple[float, ...]
    """Expected calibration error at temperature 1: of heads, and of heads with relations unless these are scored given
    the head, where the network does not put out the probabilities of relations."""
    after: tuple[float, ...]
    """The same at the fitted temperature, each half of the sentences judged with the temperature of the other half."""

    @property
    def helps(self) -> bool:
        """Whether the temperature lowers the calibration error, or leaves it as it is."""
        return sum(self.after) <= sum(self.before)

    def rows(self) -> list[list[str]]:
        """Return what was judged, with its errors before and after."""
        errors = zip(JUDGED, self.before, self.after, strict=False)
        return [[name, f"{100 * old:.2f} %", f"{100 * new:.2f} %"] for name, old, new in errors]

    def describe(self) -> str:
        """Return one line about the errors before and after."""
        return "; ".join(f"calibration error, {name}: {old} without, {new} with" for name, old, new in self.rows())
