"""A model trained on ten sentences, exported, and used in every way a parser is used."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="making a model needs the extra 'train'")
pytest.importorskip("onnx", reason="making a model needs the extra 'train'")

import onnx
import torch
from click.testing import CliRunner, Result

import hexatagger
from hexatagger import FormatError, Parser, Sentence, decode, read_conllu
from hexatagger.cli import main
from hexatagger.decode import Constraints
from hexatagger.errors import ConfigError, ConstraintError
from hexatagger.model.config import Recipe
from hexatagger.model.folder import store_temperature
from hexatagger.model.temperature import Temperature
from hexatagger.parsing.workers import parse_parallel
from hexatagger.scoring.evaluate import evaluate
from hexatagger.train.export.int8 import quantize
from hexatagger.train.export.onnx import export, to_onnx
from hexatagger.train.job import Job, train
from hexatagger.tree import is_tree
from same import all_of
from tiny import make_encoder, spoil, write_treebank

RECIPE = """
[model]
shape = true
hidden = 32
dropout = 0.1
tasks = ["upos", "xpos", "feats", "lemma"]

[training]
epochs = 60
batch = 5
rate = 0.002
head_rate = 0.01
task_weight = 1.0
"""


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_treebank(tmp_path_factory.mktemp("treebank"))


@pytest.fixture(scope="module")
def model(treebank: Path) -> Path:
    """A model folder with weights in torch's form, in 32 bits and in 8."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    place = treebank.parent / "model"
    recipe = Recipe.from_toml(RECIPE).with_encoder(str(make_encoder(treebank.parent)))
    train(Job(recipe=recipe, train=[treebank], dev=[treebank], out=place), report=_no_warning)
    torch.set_num_threads(threads)
    return place


def _no_warning(event: Mapping[str, object]) -> None:
    """Stop where training warns, of an export that is refused say: every test would fail in its own way after it."""
    assert event["event"] != "warning", event


@pytest.fixture(scope="module")
def parser(model: Path) -> Parser:
    return hexatagger.load(model)


@pytest.fixture
def broken(model: Path, tmp_path: Path) -> Path:
    """A copy of the model to break."""
    return Path(shutil.copytree(model, tmp_path / "broken"))


@pytest.fixture(scope="module")
def gold(treebank: Path) -> list[Sentence]:
    return list(read_conllu(treebank))


def test_what_was_learnt_comes_out_in_32_and_in_8_bits(model: Path, gold: list[Sentence]) -> None:
    bare = [sentence.forms for sentence in gold]
    for precision in ("fp32", "int8"):
        parsed = hexatagger.load(model, precision=precision).parse_words(bare)
        scores = {name: score.f1 for name, score in evaluate(gold, parsed).metrics.items()}
        assert scores["LAS"] > 95, precision  # 100 on most machines; rounding differs between processors
        assert min(scores["UPOS"], scores["Lemmas"], scores["UFeats"]) > 90, precision


@pytest.mark.parametrize("relations", ["separate", "pairs"])
def test_pointers_come_out_in_32_and_in_8_bits(
    treebank: Path, gold: list[Sentence], relations: str, tmp_path: Path
) -> None:
    settings = ["model.pointers=16", f"model.relations={relations}"]
    recipe = Recipe.from_toml(RECIPE).with_encoder(str(make_encoder(tmp_path))).with_settings(settings)
    train(Job(recipe=recipe, train=[treebank], dev=[treebank], out=tmp_path / "model"), report=_no_warning)
    for precision in ("fp32", "int8"):
        parser = hexatagger.load(tmp_path / "model", precision=precision)
        parsed = parser.parse_words([sentence.forms for sentence in gold])
        assert evaluate(gold, parsed).metrics["LAS"].f1 > 95, precision
        assert all_of(parser.parse_sentences(parsed, batch_size=1)) == all_of(parsed)
        assert all(each.head is not None for each in parser.predict(gold))
        assert all((each.pairs is not None) == (relations == "pairs") for each in parser.predict(gold))


def test_batches_threads_and_company_change_nothing(model: Path, gold: list[Sentence]) -> None:
    mixed = [*gold, *(Sentence.from_words(one.forms + other.forms) for one, other in itertools.pairwise(gold))]
    for precision in ("fp32", "int8"):
        one = hexatagger.load(model, precision=precision, threads=1)
        two = hexatagger.load(model, precision=precision, threads=2)
        for more, k in ((False, 1), (True, 3)):
            expected = all_of(one.parse_sentences(mixed, batch_size=64, probabilities=more, k=k))
            assert ("probability" in expected[0]) == ("alternatives" in expected[0]) == more
            assert all_of(one.parse_sentences(mixed, batch_size=1, probabilities=more, k=k)) == expected
            assert all_of(two.parse_sentences(mixed[::-1], batch_size=3, probabilities=more, k=k)[::-1]) == expected
            assert all_of(one.parse_sentences([each], probabilities=more, k=k)[0] for each in mixed) == expected


def test_threads_share_the_batches_of_a_call(
    model: Path, gold: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = hexatagger.load(model, threads=3)
    expected = all_of(hexatagger.load(model, threads=1).parse_sentences(gold * 9, batch_size=2))
    run, seen = parser.network.outputs, set[int]()

    def watched(*arguments: Any, **options: Any) -> Any:
        seen.add(threading.get_ident())
        time.sleep(0.002)
        return run(*arguments, **options)

    monkeypatch.setattr(parser.network, "outputs", watched)
    assert all_of(parser.parse_sentences(gold * 9, batch_size=2)) == expected  # three lists, so one is read ahead
    assert len(seen) == 3
    seen.clear()
    parser.parse_sentences(gold[:1])
    assert seen == {threading.get_ident()}  # a single sentence is not handed to another thread


def test_the_network_starts_no_threads(model: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from hexatagger.model.onnx import open_session, runtime
runtime()
before = len(os.listdir("/proc/self/task"))
session = open_session(Path(sys.argv[1]) / "model.onnx")
assert len(os.listdir("/proc/self/task")) == before
"""
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted in /proc")
    subprocess.run([sys.executable, "-c", code, str(model)], check=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_parser_works_in_a_forked_process(model: Path) -> None:
    code = """
import os, sys, hexatagger
parser = hexatagger.load(sys.argv[1], threads=2)
words = [["She", "reads"], ["Dogs", "bark", "loudly"], ["Go"]] * 9
parse = lambda: [sentence.to_conllu() for sentence in parser.parse_words(words, batch_size=2)]
expected = parse()
child = os.fork()
if not child:
    os._exit(7 * (parse() == expected))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert parse() == expected
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(model)], check=True, timeout=120)


def test_errors_in_other_threads_and_in_the_input(model: Path, gold: list[Sentence]) -> None:
    parser = hexatagger.load(model, threads=2)
    run, failing = parser.network.outputs, Sentence.from_words(["x"] * 30)

    def broken(inputs: Any, **options: Any) -> Any:
        if inputs["lengths"][0] == 30:
            raise FormatError("does not fit", source="model.onnx")
        return run(inputs, **options)

    parser.network.outputs = broken  # type: ignore[method-assign]
    for place in (0, 40, 80):
        with pytest.raises(FormatError, match="does not fit"):
            parser.parse_sentences([*(gold * 8)[:place], failing, *gold], batch_size=1)

    def stream() -> Iterator[Sentence]:
        yield from gold * 4
        raise FormatError("ends early", source="input")

    made = parser.pipe(stream(), batch_size=2)  # 32 sentences are parsed at once
    assert list(itertools.islice(made, 32)) == parser.parse_sentences((gold * 4)[:32])
    with pytest.raises(FormatError, match="ends early"):
        list(made)


def test_eight_threads_on_one_parser(parser: Parser, gold: list[Sentence]) -> None:
    expected = all_of(parser.parse_sentences(gold, k=2))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: all_of(parser.parse_sentences(gold, k=2)), range(32))) == [expected] * 32


@pytest.mark.parametrize(
    "words",
    [
        ["10 000", "papers"],
        ["\u00ad"],
        ["\ufeff", "\u200b", "\ufe0f"],
        ["😀", "👩‍👩‍👧", "!!!"],
        ["(", ":-)", "/", "|", "%", "^", "_"],
        ["مرحبا", "שלום", "汉字"],
        ["x" * 10_000],
        [" ", "\t"],
    ],
)
def test_odd_words_are_parsed(parser: Parser, words: list[str]) -> None:
    [sentence] = parser.parse_words([words])
    assert sentence.forms == words
    assert is_tree(sentence.heads)
    assert [word.deprel == "root" for word in sentence] == [word.head == 0 for word in sentence]


def test_a_sentence_of_ten_thousand_words(parser: Parser, gold: list[Sentence]) -> None:
    words = [form for sentence in gold for form in sentence.forms] * 300
    [sentence] = parser.parse_words([words[:10_000]])
    assert len(sentence) == 10_000
    assert is_tree(sentence.heads)


def test_nothing(parser: Parser) -> None:
    assert parser.parse_words([]) == []
    assert parser.parse_words([[]]) == [Sentence([])]
    assert list(parser.pipe([])) == []


def test_sentences_without_words(parser: Parser, gold: list[Sentence]) -> None:
    given = [Sentence([], comments=["# sent_id = 1"]), gold[0], Sentence([])]
    parsed = parser.parse_sentences(iter(given), probabilities=True, k=2)
    [alone] = parser.parse_sentences([gold[0]], probabilities=True, k=2)
    assert all_of(parsed) == all_of([given[0], alone, given[2]])
    empty, one, _ = parser.predict(iter(given))
    assert (len(empty), len(one)) == (0, len(gold[0]))
    leaf, internal, lengths = parser.tag_scores(iter(given))
    assert lengths.tolist() == [0, len(gold[0]), 0]
    np.testing.assert_array_equal(leaf[1:2], parser.tag_scores([gold[0]])[0])
    assert decode.log_partition(leaf, internal, lengths)[0] == 0
    assert [len(scores) for scores in parser.tag_scores([])] == [0, 0, 0]


def test_pipe_streams_and_keeps_order(parser: Parser, gold: list[Sentence]) -> None:
    given: list[Sentence | list[str]] = [gold[0], gold[1].forms, gold[2]]
    [named] = parser.parse_words([gold[1].forms])
    assert list(parser.pipe(given)) == [*parser.parse_sentences([gold[0]]), named, *parser.parse_sentences([gold[2]])]
    taken = 0

    def endless() -> Iterator[Sentence]:
        nonlocal taken
        while True:
            taken += 1
            yield gold[taken % 10]

    stream = parser.pipe(endless(), batch_size=2)
    first = [next(stream) for _ in range(40)]
    assert first[:10] == parser.parse_sentences([*gold[1:], gold[0]])
    assert taken <= 96


def test_several_processes_give_the_same(parser: Parser, model: Path, gold: list[Sentence]) -> None:
    many = gold * 120
    made = parse_parallel(model, iter(many), workers=2, probabilities=True)
    assert all_of(made) == all_of(parser.parse_sentences(many, probabilities=True))


def test_columns_that_are_kept(parser: Parser, gold: list[Sentence]) -> None:
    sentence = Sentence.from_words(gold[0].forms)
    sentence.words[0].upos, sentence.words[0].misc, sentence.comments = "X", "Kept=Yes", ["# sent_id = 1"]
    [kept] = parser.parse_sentences([sentence], keep=["upos"])
    [free] = parser.parse_sentences([sentence])
    assert [word.upos for word in kept] == ["X", *(word.upos for word in free.words[1:])]
    assert (kept[0].misc, kept.comments) == ("Kept=Yes", ["# sent_id = 1"])
    assert free[0].upos == "PRON"
    assert sentence[0].upos == "X"  # what was given is not changed
    with pytest.raises(ConfigError, match="keep 'head' is not one of"):
        parser.parse_sentences([sentence], keep=["head"])  # type: ignore[list-item]


def test_how_sure_and_what_else(parser: Parser, gold: list[Sentence]) -> None:
    plain = parser.parse_sentences(gold)
    asked = parser.parse_sentences(gold, probabilities=True, k=4)
    assert [(one.heads, one.deprels) for one in asked] == [(one.heads, one.deprels) for one in plain]
    for sentence in asked:
        trees = [sentence, *sentence.alternatives]
        assert len({tuple(tree.heads) for tree in trees}) == len(trees) == (4 if len(sentence) > 2 else len(trees))
        assert 0 < sum(tree.probability or 0 for tree in trees) <= 1 + 1e-9
        assert sentence.comment("tree_prob") == f"{sentence.probability:.6g}"
        assert [other.comment("alternative") for other in trees[1:]] == [str(n) for n in range(2, len(trees) + 1)]
        for word in sentence:
            assert word.heads is not None
            assert sum(probability for _, probability in word.heads) <= 1 + 1e-9
            assert f"HeadProb={word.head_probability:.4f}" in word.misc
    json.dumps([sentence.to_dict() for sentence in asked])


def test_what_i_know(parser: Parser, gold: list[Sentence]) -> None:
    words = gold[3].forms  # The old dog barks loudly
    known = Constraints(heads={5: 3}, relations={1: ["amod"]}, spans=[(1, 3)])
    [obedient] = parser.parse_words([words], constraints=[known])
    assert (obedient[4].head, obedient[0].deprel) == (3, "amod")
    assert is_tree(obedient.heads)
    [rooted] = parser.parse_words([words], constraints=[Constraints(root=1)])
    assert (rooted[0].head, rooted[0].deprel) == (0, "root")
    with pytest.raises(ConstraintError, match="the model has no relation 'nonsense': it has "):
        parser.parse_words([words], constraints=[Constraints(relations={1: ["nonsense"]})])
    with pytest.raises(ConstraintError, match="cycle"):
        parser.parse_words([words], constraints=[Constraints(heads={1: 2, 2: 1})])
    with pytest.raises(ConfigError, match="1 constraints for 2 sentences"):
        parser.parse_words([words, words], constraints=[None])


def test_how_sure_and_what_else_given_what_i_know(parser: Parser, gold: list[Sentence]) -> None:
    words = gold[3].forms
    known = Constraints(heads={5: 3}, spans=[(1, 3)])
    [plain] = parser.parse_words([words], constraints=[known])
    [asked] = parser.parse_words([words], constraints=[known], probabilities=True, k=4)
    trees = [asked, *asked.alternatives]
    assert (asked.heads, asked.deprels) == (plain.heads, plain.deprels)
    assert len({tuple(tree.heads) for tree in trees}) == 4
    assert all(is_tree(tree.heads) and tree[4].head == 3 for tree in trees)
    assert asked[4].head_probability == pytest.approx(1)
    assert 0 < sum(tree.probability or 0 for tree in trees) <= 1 + 1e-9
    assert [tree.comment("tree_prob") for tree in trees] == [f"{tree.probability:.6g}" for tree in trees]


def test_scores_to_draw_trees_from(parser: Parser, gold: list[Sentence]) -> None:
    [sure] = parser.parse_sentences([gold[3]], probabilities=True)
    scores = parser.tag_scores([gold[3]])
    [drawn] = decode.sample(*scores, 2000, seed=1)
    shares = np.mean([tree.tolist() == sure.heads for tree in decode.heads(list(drawn))])
    assert shares == pytest.approx(sure.probability, abs=0.05)
    cold = parser.tag_scores([gold[3]], temperature=1.0)
    np.testing.assert_allclose(scores[0] * parser.folder.temperature.tags, cold[0])


def test_columns_that_are_respected(parser: Parser, gold: list[Sentence]) -> None:
    sentence = Sentence.from_words(gold[3].forms)
    sentence.words[4].head, sentence.words[4].deprel = 2, "advmod"
    [obedient] = parser.parse_sentences([sentence], respect=["head", "deprel"])
    assert (obedient[4].head, obedient[4].deprel) == (2, "advmod")
    with pytest.raises(ConfigError, match="respect 'lemma' is not one of"):
        parser.parse_sentences([sentence], respect=["lemma"])  # type: ignore[list-item]


def test_text_needs_a_segmenter(parser: Parser) -> None:
    with pytest.raises(ConfigError, match="has no segmenter"):
        parser.parse("She reads.")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", None, "cannot be read: No such file or directory: the model folder is incomplete"),
        ("config.json", "{", "is not JSON"),
        ("config.json", "[]", "is not a JSON object"),
        ("config.json", "{}", "has no format version"),
        ("config.json", '{"format": 99}', "format 99 is newer than this hexatagger knows"),
        ("labels.json", None, "cannot be read"),
        ("labels.json", "{}", "label set 'relations' is missing"),
        ("tokenizer.json", None, "cannot be read"),
        ("tokenizer.json", "{}", "is not a tokenizer"),
        ("model.int8.onnx", "no graph", "cannot be loaded"),
    ],
)
def test_broken_folders(broken: Path, file: str, content: str | None, message: str) -> None:
    if content is None:
        (broken / file).unlink()
    else:
        (broken / file).write_text(content)
    with pytest.raises(FormatError) as caught:
        hexatagger.load(broken)
    assert message in str(caught.value)
    assert file in str(caught.value)


def test_folders_without_a_network(broken: Path) -> None:
    (broken / "model.int8.onnx").unlink()
    assert hexatagger.load(broken).parse_words([["She"]])  # 32 bits will do
    with pytest.raises(FormatError, match=r"has no model\.int8\.onnx: make it with hexatagger export"):
        hexatagger.load(broken, precision="int8")
    with pytest.raises(ConfigError, match="is not a folder"):
        hexatagger.load(broken / "nowhere")


def test_unknown_providers_and_precisions(model: Path) -> None:
    with pytest.raises(ConfigError, match=r"provider 'Quantum' is not in this onnxruntime, which has: .*CPU"):
        hexatagger.load(model, providers=["Quantum"])
    with pytest.raises(ConfigError, match="precision 'int4' is not one of"):
        hexatagger.load(model, precision="int4")  # type: ignore[arg-type]


def test_an_export_that_would_be_wrong_is_not_written(
    broken: Path, gold: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (broken / "model.onnx").read_bytes()

    def spoilt(model: onnx.ModelProto) -> onnx.ModelProto:
        made = quantize(model)
        for each in made.graph.initializer:
            if each.name.endswith(".scale"):
                each.raw_data = bytes(len(each.raw_data))
        return made

    monkeypatch.setattr("hexatagger.train.export.onnx.quantize", spoilt)
    with pytest.raises(ConfigError, match="8 bits cost"):
        export(broken, gold)
    assert not (broken / "model.int8.onnx").exists()
    assert hexatagger.load(broken).parse_sentences(gold)  # in 32 bits
    monkeypatch.setattr("hexatagger.train.export.onnx.to_onnx", lambda model: spoil(to_onnx(model), "leaf"))
    with pytest.raises(ConfigError, match=r"'leaf' in ONNX differs from torch by .*: nothing is written"):
        export(broken, gold)
    assert (broken / "model.onnx").read_bytes() == before
    assert not [path for path in broken.iterdir() if path.is_dir()]


def run(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=text)


def test_parse_command(model: Path, treebank: Path, tmp_path: Path) -> None:
    words = "She reads papers .\nHe sleeps\n"
    result = run("parse", "--model", model, "--from", "words", text=words)
    assert result.exit_code == 0, result.output
    (tmp_path / "out.conllu").write_text(result.stdout)
    assert [sentence.heads for sentence in read_conllu(tmp_path / "out.conllu")] == [[2, 0, 2, 2], [2, 0]]
    lines = run("parse", "--model", model, "--from", "words", "--to", "json", text=words).stdout.splitlines()
    assert [word["head"] for word in json.loads(lines[1])["words"]] == [2, 0]
    assert "nsubj" in run("parse", "--model", model, "--from", "words", "--to", "tree", text=words).stdout
    assert "l/nsubj" in run("parse", "--model", model, "--from", "words", "--to", "tags", text=words).stdout
    assert "<svg" in run("parse", "--model", model, "--from", "words", "--to", "html", text=words).stdout
    target = tmp_path / "all.conllu"
    result = run("parse", "--model", model, "--from", "conllu", "-f", treebank, "-o", target, "--workers", "2")
    assert result.exit_code == 0, result.output
    assert [sentence.heads for sentence in read_conllu(target)] == [
        sentence.heads for sentence in read_conllu(treebank)
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text", "-f", "file"], "both TEXT and --file are given"),
        (["text", "--from", "conllu"], "--from conllu reads files"),
        (["--keep", "head"], "--keep 'head' is not one of: upos, xpos, feats, lemma"),
        (["-f", "missing.txt", "--from", "words"], "missing.txt: cannot be read"),
        (["text"], "has no segmenter"),
        (["--resume", "--from", "words"], "--resume needs a plain output file"),
    ],
)
def test_parse_command_says_what_is_wrong(model: Path, arguments: list[str], message: str) -> None:
    result = run("parse", "--model", model, *arguments, text="x\n")
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_info_and_evaluate_commands(model: Path, treebank: Path) -> None:
    assert "model.int8.onnx" in run("info", model).stdout
    result = run("evaluate", treebank, "--model", model, "--json")
    assert json.loads(result.stdout)["metrics"]["LAS"]["f1"] > 95
    assert "give either SYSTEM or --model" in run("evaluate", treebank).stderr


def test_training_calibrates_and_so_can_you(broken: Path, treebank: Path, gold: list[Sentence]) -> None:
    config, card = broken / "config.json", broken / "README.md"
    assert json.loads(config.read_text())["temperature"].keys() == {"tags", "relations"}
    assert "## Probabilities" in card.read_text()
    store_temperature(broken, Temperature(tags=3.0))
    before = hexatagger.load(broken).parse_sentences(gold, probabilities=True)
    result = run("calibrate", broken, "--dev", treebank, "--no-store")
    assert result.exit_code == 0, result.output
    assert "calibration error, head and relation: " in result.stderr
    assert hexatagger.load(broken).folder.temperature == Temperature(tags=3.0)
    result = run("calibrate", broken, "--dev", treebank)
    assert result.exit_code == 0, result.output
    found = hexatagger.load(broken)
    assert f"temperature of tags {found.folder.temperature.tags:g}" in result.stderr
    after = found.parse_sentences(gold, probabilities=True)
    assert [(one.heads, one.deprels) for one in after] == [(one.heads, one.deprels) for one in before]
    assert [one.probability for one in after] != [one.probability for one in before]
    assert card.read_text().count("## Probabilities") == 1
    empty = broken.parent / "empty.conllu"
    empty.write_text("")
    assert "no sentences to calibrate with" in run("calibrate", broken, "--dev", empty).stderr
    alone = broken.parent / "alone.conllu"
    hexatagger.write_conllu([Sentence.from_words(["Yes"], heads=[0], deprels=["root"])], alone)
    result = run("calibrate", broken, "--dev", alone)
    assert result.exit_code == 1
    assert "no tree to fit a temperature on: name a file that has some of 2 to 100 words" in result.stderr
    assert hexatagger.load(broken).folder.temperature == found.folder.temperature


def test_running_needs_no_torch(model: Path) -> None:
    program = (
        f"import hexatagger, sys; hexatagger.load({str(model)!r}).parse_words([['She']]); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_package_holds_what_running_needs(model: Path, treebank: Path, tmp_path: Path) -> None:
    place = tmp_path / "models" / "tiny"
    result = run("package", model, place, "--dev", treebank, "--made", "make tiny")
    assert result.exit_code == 0, result.output
    files = [
        "README.md",
        "card.json",
        "config.json",
        "labels.json.gz",
        "lemmas.tsv.gz",
        "model.int8.onnx.gz",
        "tokenizer.json",
    ]
    assert sorted(path.name for path in place.iterdir()) == files
    assert (place / "lemmas.tsv.gz").read_bytes() == (model / "lemmas.tsv.gz").read_bytes()
    assert [path.name for path in place.parent.iterdir()] == ["tiny"]
    gold = list(read_conllu(treebank))
    parsed = hexatagger.load(place).parse_sentences(gold)
    assert parsed == hexatagger.load(model, precision="int8").parse_sentences(gold)
    las = f"{evaluate(gold, parsed).metrics['LAS'].f1:.2f}"
    assert f"LAS {las}" in result.stderr
    card = (place / "README.md").read_text(encoding="utf-8")
    assert "in 8 bits" in card
    assert "Made with `make tiny`" in card
    assert las in card.split("## Data")[0].split("## Scores of this package")[1]
    assert "Inflected lemmas: of nouns, verbs and adjectives" in card
    assert "exists: name a folder that does not" in run("package", model, place).stderr
    (tmp_path / "empty").mkdir()
    assert "has no model.onnx" in run("package", tmp_path / "empty", tmp_path / "x", "--precision", "fp32").stderr
