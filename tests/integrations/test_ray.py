"""A real Ray cluster of several nodes on this machine, of which a worker and a node are killed in the middle."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra [ray]")
pytest.importorskip("onnx", reason="making a model needs the extra [train]")

import ray
import ray.data
from click.testing import CliRunner, Result

import hexatagger
from hexatagger import ConfigError, FormatError, Sentence
from hexatagger.cli import main
from hexatagger.formats.conllu import format_sentence
from hexatagger.formats.files import lock
from hexatagger.integrations.ray import CorpusOptions, Summary, parse, parse_files, read_conllu, write_conllu
from invented import add_profile
from onnx_model import write_model
from same import ids_of, without_ids

pytestmark = [  # what Ray does inside itself
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\..*"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning"),
]

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_worker_niceness": "0",  # 15 by default: beside anything else that runs, a worker would never get to work
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
PARAGRAPH = "The dogs bark. Anna saw 10 birds, and they sang.\nWe walked home and sang.\n\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "noise")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without cores, and two nodes with one core each."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            try:
                for _ in range(2):
                    made.add_node(num_cpus=1)
            except Exception as error:  # Ray gives a node half a minute, which a starved machine may not have
                pytest.skip(f"Ray could not start its nodes here: {error}")
            ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def shards(out: Path, name: str = "", suffix: str = ".conllu") -> str:
    return "".join(path.read_text() for path in sorted(out.glob(f"{name}*{suffix}")))


def workers(node: Any) -> list[int]:
    """The processes of a node that parse."""
    [raylet] = node.all_processes["raylet"]
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == raylet.process.pid and b"MapWorker" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def writing(process: int) -> list[str]:
    """The unfinished shards that a process has open."""
    try:
        links = [os.readlink(path) for path in Path(f"/proc/{process}/fd").iterdir()]  # noqa: PTH115
    except OSError:
        return []
    return [Path(link).name for link in links if link.endswith(".part")]


def caught(nodes: list[Any]) -> tuple[Any, int, str]:
    """Stop a worker while it writes a shard; return its node, itself and the unfinished shard."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        for node in nodes:
            for process in workers(node):
                if not writing(process):
                    continue
                os.kill(process, signal.SIGSTOP)
                if held := writing(process):
                    return node, process, held[0]
                os.kill(process, signal.SIGCONT)
        time.sleep(0.01)
    pytest.fail("no worker was seen at work")


def test_a_worker_and_a_node_die_in_the_middle(cluster: Any, model: Path, tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    (corpus / "a.txt").write_text("".join(f"Part {number}. {PARAGRAPH}" for number in range(5000)))
    records = [{"id": f"r{number}", "text": PARAGRAPH * 80} for number in range(25)]
    (corpus / "b.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    left: list[str] = []

    def disturb(progress: Summary) -> None:
        if not left and progress.done >= 1:
            _, process, part = caught(list(cluster.worker_nodes))
            os.kill(process, signal.SIGKILL)
            left.append(part)
        elif len(left) == 1 and progress.done >= 4:
            node, _, part = caught(list(cluster.worker_nodes))
            cluster.remove_node(node, allow_graceful=False)
            left.append(part)

    options = CorpusOptions(block=30_000)
    summary = parse_files(str(corpus), out, model=model, options=options, report=disturb)
    assert len(left) == 2
    assert (summary.kept, summary.problems, summary.failures) == (0, 0, {})
    assert not list(out.glob(".*.part"))

    single = run("parse", "--model", model, "-f", corpus / "a.txt", "-o", tmp_path / "a.conllu")
    assert single.exit_code == 0, single.output
    assert without_ids(shards(out, "a.txt")) == without_ids((tmp_path / "a.conllu").read_text())
    ids = ids_of(shards(out))
    assert len(set(ids)) == len(ids) == summary.sentences
    parser = hexatagger.load(model)
    expected = parser.parse(PARAGRAPH * 80)
    for number, record in enumerate(records):
        trees = [Sentence(each.words, list(each.comments)) for each in expected]
        trees[0].comments.insert(0, f"# newdoc id = {record['id']}")
        records[number]["text"] = "".join(map(format_sentence, trees))
    assert without_ids(shards(out, "b.jsonl")) == without_ids("".join(record["text"] for record in records))
    assert summary.shards == len(list(out.glob("*.conllu"))) >= 15

    # What is there is not made again; what is missing is.
    made = {path: path.stat().st_mtime_ns for path in out.glob("*.conllu")}
    lost = sorted(made)[3]
    content = lost.read_text()
    lost.unlink()
    again = parse_files(str(corpus), out, model=model, options=options)
    assert (again.shards, again.kept) == (summary.shards, summary.shards - 1)
    assert lost.read_text() == content
    assert {path: path.stat().st_mtime_ns for path in made if path != lost} == {
        path: when for path, when in made.items() if path != lost
    }


def test_a_dataset(cluster: Any, model: Path, tmp_path: Path) -> None:
    while len(cluster.worker_nodes) < 2:  # one core to read, one to parse
        cluster.add_node(num_cpus=1)
    rows = [{"id": 1, "text": "Hi Anna. Bye."}, {"id": 2, "text": None}, {"id": 3, "text": ""}]
    dataset = ray.data.from_items(rows)
    parser = hexatagger.load(model)
    first, second = parser.parse("Hi Anna. Bye.")
    table = sorted(parse(dataset, model=model).take_all(), key=lambda row: (row["id"], row["sentence"] or 0))
    assert [(row["id"], row["sentence"], row["text"], row["problem"]) for row in table] == [
        (1, 1, first.text, None),
        (1, 2, second.text, None),
        (2, None, None, "its text is null: a string is needed"),
        (3, None, None, None),
    ]
    words = [[(word["form"], word["head"], word["deprel"]) for word in row["words"]] for row in table[:2]]
    assert words == [[(word.form, word.head, word.deprel) for word in sentence] for sentence in (first, second)]

    ids = [ids_of(row["conllu"]) for row in parse(dataset, model=model, to="conllu").take_all() if row["conllu"]]
    assert ids == [["1-s1", "1-s2"]]
    nameless = ray.data.from_items([{"text": "Hi Anna. Bye."}, {"text": "Bye."}])
    made = "".join(row["conllu"] for row in parse(nameless, model=model, to="conllu").take_all())
    assert len(set(ids_of(made))) == len(ids_of(made)) == 3

    path, out = tmp_path / "a.conllu", tmp_path / "out"
    sentences = parser.parse(PARAGRAPH * 3)
    path.write_text("".join(map(format_sentence, sentences)))
    read = read_conllu(str(path))
    write_conllu(parse(read, model=model, text_column="conllu", source="conllu", to="conllu", actors=1), str(out))
    assert sorted(shards(out).split("\n\n")) == sorted(path.read_text().split("\n\n"))
    with pytest.raises(ConfigError, match="the dataset has no column 'body', but: id, text"):
        parse(dataset, model=model, text_column="body", actors=1).take_all()


def test_a_cluster_of_its_own_from_the_command_line(model: Path, tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.mkdir()
    (corpus / "a.jsonl").write_text('{"id": 1, "text": "Hi Anna. Bye."}\n{"id": 2}\n')
    model = add_profile(Path(shutil.copytree(model, tmp_path / "model")), 0, "qaa")
    command = [sys.executable, "-m", "hexatagger", "corpus", "--model", str(model)]
    command += [str(corpus / "*.jsonl"), "-o", str(out), "--workers", "1"]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | ENVIRONMENT
    del environment["RAY_BACKEND_LOG_LEVEL"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    lines = [line for line in done.stderr.splitlines() if not line.endswith(" left")]  # progress on a slow machine
    assert done.returncode == 1
    assert lines[0].startswith("1 shards; 2 sentences, 5 words in 0:0")
    assert lines.pop(1).startswith("Warning: a.jsonl.00000.conllu: the text looks like ")
    assert lines[1:] == [
        f"Error: {corpus}/a.jsonl:2: has no column 'text', but id: name it with --text-column; "
        f"*.problems.jsonl in {out} lists all of them, and the rest is parsed"
    ]
    assert [line for line in shards(out).splitlines() if line[:1] == "#"] == [
        "# newdoc id = 1",
        "# newpar id = a.jsonl.00000-p1",
        "# sent_id = a.jsonl.00000-s1",
        "# text = Hi Anna.",
        "# sent_id = a.jsonl.00000-s2",
        "# text = Bye.",
    ]
    # Nothing is to be done any more, so no cluster is needed.
    again = run("corpus", "--model", model, corpus, "-o", out, "--address", "nowhere:1")
    assert again.exit_code == 1
    assert again.stderr.splitlines() == ["1 shards, 1 of them done before; 0 sentences, 0 words", *lines[1:]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "-o", "out"], "corpus does not read standard input: name files"),
        (["nothing/*", "-o", "out"], "nothing/*: no such file"),
        (["corpus", "-o", "out", "--to", "parquet", "--k", "2"], "a table has no place for the k best trees"),
        (["corpus", "-o", "out", "--keep", "head"], "--keep 'head' is not one of: upos, xpos, feats, lemma"),
        (["corpus", "-o", "file"], "file is a file: name a folder for the shards"),
        (["corpus", "-o", ""], "the output has no name: name a folder for the shards"),
        (["corpus", "-o", "."], "corpus is in the output folder"),
    ],
)
def test_what_is_wrong_is_said_before_ray_is_started(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_text("Hi.\n")
    Path("file").touch()
    result = run("corpus", "--model", model, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr


def test_ray_cannot_be_started_or_reached(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: Any) -> None:
        raise Exception("The current node timed out during startup.\nMore.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "a.txt").write_text("Hi.\n")
    with pytest.raises(ConfigError, match=r"Ray cannot be started here: The current node timed out during startup\.$"):
        parse_files(str(tmp_path / "a.txt"), tmp_path / "out", model=model)
    with pytest.raises(ConfigError, match=r"the cluster at '127\.0\.0\.1:1' cannot be reached: Connection refused"):
        parse_files(str(tmp_path / "a.txt"), tmp_path / "out", model=model, address="127.0.0.1:1")


def test_other_settings_or_files_are_refused(model: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt.gz", tmp_path / "out"
    path.write_bytes(b"nonsense")
    summary = parse_files(str(path), out, model=model)
    assert (summary.shards, summary.problems) == (0, 0)
    assert "cannot be decompressed" in summary.failures["a.txt.gz"]
    with pytest.raises(ConfigError, match="were made with target conllu, not json"):
        parse_files(str(path), out, model=model, options=CorpusOptions(target="json"))
    with (out / ".lock").open("rb+") as held:
        assert lock(held)
        with pytest.raises(ConfigError, match="another process is writing to "):
            parse_files(str(path), out, model=model)
    with pytest.raises(ConfigError, match="has no segmenter"):
        parse_files(str(path), out, model=write_model(tmp_path / "words", segmenter=False))
    with pytest.raises(FormatError, match="no such file"):
        parse_files(str(tmp_path / "missing"), out, model=model)
