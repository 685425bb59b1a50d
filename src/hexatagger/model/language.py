"""Which language is a text in? A small identifier of our own: which of several models fits a text, and does it at all.

A model folder may have a language.json: the profile of its language. For each of 16,384 hashed n-grams of one to three
letters it has the logarithm of how much more frequent they are in the treebank than in the average of 74 languages, in
8 bits. The score of a text is the mean over its n-grams: above 0 if the text looks more like this language than like
any language. Profiles are independent of one another, so a new model brings its own. Those of the 74 languages are also
in languages.npz, so that a text is recognised as French where no model of French is installed.

The first 3,000 characters of a text are read. A language is chosen for a document, not for each sentence: longer texts
are easier to tell apart, and cutting a text into sentences needs the model already.

`learn` makes a profile from a treebank, without torch. It does not tell dialects or periods of one language apart, and
does not find the parts of a text that mixes languages.
"""

import base64
import binascii
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexatagger.errors import ConfigError, FormatError
from hexatagger.formats.files import LOG
from hexatagger.model.folder import LANGUAGE, read_json, write_json
from hexatagger.model.registry import EMBEDDED, installed
from hexatagger.model.values import checked, checking
from hexatagger.sentence import Sentence

FORMAT = 1
READ = 3000  # characters of a text that are looked at
BUCKETS = 1 << 14
LANGUAGES = Path(__file__).with_name("languages.npz")
"""Profiles of languages and the background, the average of all: made by recipes/identifier.py."""
_ORDERS = (1, 2, 3)
_STEP = 16  # steps of a stored logarithm per unit
_SHARE = 0.1  # of the background in a profile: what an n-gram costs that training did not have
_LETTERS = 10_000  # a treebank with fewer has no profile
WORDS = 5  # sentences of dev with fewer say too little
_SENTENCES, _LOW, _OUTLIERS = 50, 0.3, 0.002  # see `fit_range`
_MARGIN, _LEAST_MARGIN = 3.0, 0.05  # by how much another model must score better: the greater of z / √n and the least
_EVIDENCE = 21.0  # what the n-grams must say together: a word of three letters is not enough, one in another script is

Buckets = NDArray[np.intp]


@dataclass(frozen=True, eq=False, slots=True)
class LanguageProfile:
    """What the language of a model looks like."""

    weights: NDArray[np.int8]
    """For each bucket of n-grams, the logarithm of how typical it is, in sixteenths. Shape (BUCKETS,)."""
    low: float
    """The score below which long texts do not look like this language."""
    spread: float
    """How much lower the scores of short texts may be: with n n-grams, spread / √n."""
    language: str = ""
    """The code of the language. Models of the same language are not compared."""

    def score(self, grams: Buckets) -> float:
        """Return the mean weight of n-grams."""
        return float(self.weights[grams].mean()) / _STEP

    def fits(self, score: float, count: int) -> bool:
        """Say whether texts of this language with so many n-grams have such scores."""
        return score >= self.low - max(self.spread / math.sqrt(count), _EVIDENCE / count)


def letters(text: str) -> str:
    r"""Return the words of a text in lower case, with a space around each; all but letters and accents is dropped.

    >>> letters("«Où est-il?» 42 \n")
    ' où est il '
    """
    text = unicodedata.normalize("NFC", text).lower()
    others = {ord(each): " " for each in set(text) if not _is_letter(each)}
    return f" {' '.join(text.translate(others).split())} "


@lru_cache(1 << 16)
def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


def hash_grams(text: str) -> Buckets:
    """Return the buckets of all n-grams of a text, in no particular order; none if it has no letters.

    >>> len(hash_grams("Où?")), len(hash_grams("42"))  # with the spaces around it: 4 letters, 3 pairs, 2 triples
    (9, 0)
    """
    plain = letters(text)
    if not plain.strip():
        return np.zeros(0, np.intp)
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), np.dtype("<u4")).astype(np.uint64)
    found = []
    for order in _ORDERS:
        size = len(codes) - order + 1
        # FNV-1a over whole characters, mixed so that its upper bits depend on all of them
        mixed = np.full(max(size, 0), order, np.uint64)
        for place in range(order):
            mixed = (mixed ^ codes[place : place + size]) * np.uint64(0x100000001B3)
            mixed ^= mixed >> np.uint64(29)
        found.append((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(50))
    return np.concatenate(found).astype(np.intp)


def learn(train: Sequence[Sentence], dev: Sequence[Sentence], *, language: str = "") -> LanguageProfile | None:
    """Learn the profile of a language from a treebank; None if there is too little text.

    `language` is its code. See `own_texts` for a treebank with sentences of other languages.
    """
    size, counts = count_grams(own_texts(train, dev))
    if size < _LETTERS:
        return None
    weights = weigh(counts, _languages().background)
    low, spread = fit_range(weights, [each.text for each in dev if len(each) >= WORDS])
    return LanguageProfile(weights, low, spread, language)


def own_texts(train: Iterable[Sentence], dev: Iterable[Sentence]) -> list[str]:
    """Return the texts of train that are in the language of dev.

    A treebank may have sentences of a related language, to help with parsing. Those whose comment `# treebank = UD_…`
    names a language that dev does not have are left out.
    """
    own = {language for sentence in dev if (language := _language(sentence))}
    return [sentence.text for sentence in train if not own or _language(sentence) in own | {""}]


def weigh(counts: NDArray[np.float64], background: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Turn counts of n-grams into weights. Both arrays, and the result, have the shape (BUCKETS,)."""
    shares = np.exp(background / -_STEP)
    ratios = (1 - _SHARE) * counts / counts.sum() / shares + _SHARE
    weights: NDArray[np.int8] = np.clip(np.round(np.log(ratios) * _STEP), -128, 127).astype(np.int8)
    return weights


def pack_logarithms(shares: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Store probabilities as minus their logarithms, in 8 bits."""
    return np.clip(np.round(np.log(shares) * -_STEP), 0, 255).astype(np.uint8)


def count_grams(texts: Iterable[str]) -> tuple[int, NDArray[np.float64]]:
    """Count the letters of texts, and their n-grams by bucket."""
    size, counts = 0, np.zeros(BUCKETS)
    for text in texts:
        grams = hash_grams(text)
        size += len(grams) // len(_ORDERS)
        counts += np.bincount(grams, minlength=BUCKETS)
    return size, counts


def _language(sentence: Sentence) -> str:
    """Return the language in the comment `# treebank = UD_Danish-DDT r2.17`, or an empty string."""
    name = sentence.comment("treebank") or ""
    return name.partition("-")[0] if name.startswith("UD_") else ""


def fit_range(weights: NDArray[np.int8], dev: Iterable[str]) -> tuple[float, float]:
    """Return `low` and `spread` for weights: at most two in a thousand of the sentences of dev are outside the range.

    With few sentences the range is wider, and with fewer than fifty nothing is outside.
    """
    grams = [found for text in dev if len(found := hash_grams(text))]
    if len(grams) < _SENTENCES:
        return -math.inf, 0.0
    scores = np.array([weights[each].mean() for each in grams]) / _STEP
    low = _LOW * float(scores.mean())
    needed = np.sort((low - scores) * np.sqrt([len(each) for each in grams]))[::-1]
    return low, max(0.0, float(needed[int(_OUTLIERS * len(needed))])) * (1 + 1 / math.sqrt(len(needed)))


def write_profile(folder: Path, profile: LanguageProfile) -> None:
    """Write language.json."""
    fitted = math.isfinite(profile.low)
    values = {
        "format": FORMAT,
        "language": profile.language,
        "low": round(profile.low, 4) if fitted else None,
        "spread": round(profile.spread, 4),
        "weights": base64.b64encode(profile.weights.tobytes()).decode("ascii"),
    }
    write_json(folder / LANGUAGE, values)


def read_profile(folder: Path) -> LanguageProfile | None:
    """Read language.json; None for a folder that has none."""
    path = folder / LANGUAGE
    if not path.is_file():
        return None
    values = read_json(path)
    with checking(str(path)):
        if (version := checked(values.get("format"), int, "format")) > FORMAT:
            raise ConfigError(f"format {version} is newer than this hexatagger knows ({FORMAT}): install a newer one")
        language = checked(values.get("language"), str, "language")
        low = checked(values.get("low"), float | None, "low")
        spread = checked(values.get("spread"), float, "spread")
        packed = checked(values.get("weights"), str, "weights")
        try:
            weights = np.frombuffer(base64.b64decode(packed, validate=True), np.int8)
        except (binascii.Error, ValueError):
            raise ConfigError("weights are not base64") from None
        if len(weights) != BUCKETS:
            raise ConfigError(f"weights are {len(weights)} numbers, not {BUCKETS}")
    return LanguageProfile(weights, -math.inf if low is None else low, spread, language)


def _profile(folder: Path) -> LanguageProfile | None:
    """Return the profile of a folder, read once as long as it does not change; None if it has none."""
    try:
        changed = (folder / LANGUAGE).stat().st_mtime_ns
    except OSError:
        return None
    return _read_once(folder, changed)


@lru_cache(1 << 8)
def _read_once(folder: Path, changed: int) -> LanguageProfile | None:
    """Read a profile. A broken one is logged and not used: parsing does not need it."""
    try:
        return read_profile(folder)
    except FormatError as error:
        LOG.warning("%s: the language of texts is not checked", error)
        return None


def _profiles(models: Mapping[str, Path]) -> dict[str, LanguageProfile]:
    """Return the profiles of models that have one."""
    return {name: profile for name, folder in models.items() if (profile := _profile(folder))}


def name_language(model: Path) -> tuple[str, str]:
    """Return the code and the English name of a model's language; the name is empty if only the code is known.

    >>> from hexatagger.model.registry import find_model
    >>> name_language(find_model("en"))
    ('en', 'English')
    """
    profile, code = _profile(model), ""
    if profile and profile.language:
        code = profile.language
    else:
        from hexatagger.model.card import Card, read_card  # takes a twentieth of the time to the first tree

        with suppress(FormatError):  # parsing does not need the card
            code = (read_card(model) or Card()).language
    known = _languages()
    return code, dict(zip(known.codes, known.names, strict=True)).get(code, "")


def choose(text: str, models: Mapping[str, Path]) -> str:
    """Return the name of the model whose language a text is in, of models by name.

    Models without a profile are not chosen. A text without letters is taken for that of `en`, or of the first model.
    """
    known = _profiles(models)
    if not known:
        raise ConfigError(f"no model can be chosen: none of {', '.join(models) or '(none)'} has a {LANGUAGE}: name one")
    grams = hash_grams(text[:READ])
    if not len(grams):
        return EMBEDDED if EMBEDDED in known else next(iter(known))
    return max(known, key=lambda name: known[name].score(grams))


def identify(text: str) -> str:
    """Return the name of the installed model whose language a text is in, for `load(identify(text))`.

    >>> identify("She reads fascinating papers about the history of the city.")
    'en'
    """
    return choose(text, {name: model.folder for name, model in installed().items()})


def find_foreign(text: str, model: Path, others: Mapping[str, Path]) -> str:
    """Say what is wrong if a text does not look like the language of a model; nothing is wrong with most texts: "".

    The score must be one that dev has, and that of no other language may be clearly better: of those that this package
    knows, and of `others`, models by name.
    """
    own, grams = _profile(model), hash_grams(text[:READ])
    if own is None or not len(grams):
        return ""
    score, best, highest = own.score(grams), "", -math.inf
    if own.language:  # else it is not known which are others
        known = _languages()
        scores = known.weights[grams].sum(axis=0, dtype=np.int64) / (_STEP * len(grams))
        scores[[_same(code, own.language) for code in known.codes]] = -math.inf
        best, highest = known.names[scores.argmax()], float(scores.max())
        # subtle: a model named after a known language is skipped unread, because reading 74 profiles is slow
        unknown = {name: folder for name, folder in others.items() if name not in known.codes}
        for name, profile in _profiles(unknown).items():
            if profile.language not in known.codes and not _same(profile.language, own.language):
                best, highest = max((best, highest), (f"model '{name}'", profile.score(grams)), key=itemgetter(1))
    if highest - score > max(_MARGIN / math.sqrt(len(grams)), _LEAST_MARGIN, _EVIDENCE / len(grams)):
        return f"the text looks like {best}, not like the language of the model"
    return "" if own.fits(score, len(grams)) else "the text does not look like the language of the model"


def _same(code: str, other: str) -> bool:
    """Say whether two codes are of one language: `it` and `it-old` are."""
    return code.partition("-")[0] == other.partition("-")[0]


class _Languages(NamedTuple):
    """The content of languages.npz."""

    codes: list[str]
    names: list[str]
    background: NDArray[np.uint8]
    weights: NDArray[np.int8]
    """Shape (BUCKETS, languages)."""


@cache
def _languages() -> _Languages:
    with np.load(LANGUAGES, allow_pickle=False) as arrays:
        return _Languages(arrays["codes"].tolist(), arrays["names"].tolist(), arrays["background"], arrays["weights"])
