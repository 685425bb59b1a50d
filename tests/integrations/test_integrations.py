"""What is asked of a package that is not installed says what to install; nothing else notices."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

import hexatagger
from hexatagger import PackageError, Sentence


@pytest.mark.parametrize(
    ("package", "extra", "module", "ask"),
    [
        ("pyarrow", "tables", "arrow", lambda sentence: hexatagger.to_table([sentence])),
        ("pyarrow", "tables", "arrow", lambda sentence: hexatagger.from_table({})),
        ("networkx", "graphs", "networkx", lambda sentence: sentence.to_networkx()),
        ("nltk", "graphs", "nltk", lambda sentence: sentence.to_nltk()),
        ("nltk", "graphs", "nltk", lambda sentence: sentence.to_nltk_tree()),
        ("spacy", "spacy", "spacy", lambda sentence: sentence.to_spacy()),
        ("spacy", "spacy", "spacy", lambda sentence: hexatagger.from_spacy(sentence)),
    ],
)
def test_a_missing_package_is_named(
    package: str, extra: str, module: str, ask: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"hexatagger.integrations.{module}", raising=False)
    monkeypatch.delattr(hexatagger.integrations, module, raising=False)
    sentence = Sentence.from_words(["She", "reads"], heads=[2, 0], deprels=["nsubj", "root"])
    with pytest.raises(PackageError, match=rf"{package} is not installed: .*pip install .*\[{extra}\]'$"):
        ask(sentence)


def test_to_conllu(data: Any) -> None:
    path = data / "example.conllu"
    assert "".join(sentence.to_conllu() for sentence in hexatagger.read_conllu(path)) == path.read_text("utf-8")
