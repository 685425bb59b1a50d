"""Invented languages: sentences of random words that are always the same, and models that know how they look."""

import random
from pathlib import Path

from hexatagger.model.language import learn, write_profile
from hexatagger.sentence import Sentence

ALPHABET = "aeiouklmnprst"


def speak(seed: int, sentences: int, *, alphabet: str = ALPHABET) -> list[Sentence]:
    """Return sentences of the language with this number; two languages share their letters, but no words."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(alphabet, k=chance.randint(2, 6))) for _ in range(200)]
    return [Sentence.from_words(chance.choices(words, k=chance.randint(5, 12))) for _ in range(sentences)]


def texts(seed: int, count: int = 100) -> list[str]:
    """Return sentences that no profile was learnt from."""
    return [sentence.text for sentence in speak(seed, 900 + count)[900:]]


def add_profile(folder: Path, seed: int, code: str) -> Path:
    """Teach a model what the language with this number looks like."""
    both = speak(seed, 900)
    profile = learn(both[:700], both[700:], language=code)
    assert profile is not None
    folder.mkdir(parents=True, exist_ok=True)
    write_profile(folder, profile)
    return folder
