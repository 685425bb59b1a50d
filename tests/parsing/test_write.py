"""What a parsed sentence has from its input and what not: no network is needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hexatagger.model.labels import Labels, LabelSet
from hexatagger.model.lemmas import collect_lemmas
from hexatagger.parsing.choose import Tree
from hexatagger.parsing.predictions import Prediction
from hexatagger.parsing.write import write
from hexatagger.sentence import EmptyNode, Multiword, Sentence, Word

LABELS = Labels(LabelSet(["root", "nsubj"]), tasks={"upos": LabelSet(["NOUN", "VERB"])})


def gold() -> Sentence:
    """A sentence with everything that a file can have."""
    words = [
        Word(1, "She", "she", "PRON", "PRP", "Number=Sing", 2, "nsubj", "2:nsubj", "SpaceAfter=No", 0, 3),
        Word(2, "sleeps", "sleep", "X", "VBZ", "_", 0, "root", "0:root", "_", 3, 9),
    ]
    comments = ["# sent_id = 1", "# text = Shesleeps"]
    return Sentence(words, comments, [Multiword(1, 2, "Shesleeps")], [EmptyNode(2, 1, ("_",) * 7 + ("2:dep", "_"))])


def written(
    sentence: Sentence, *, keep: Sequence[str] = (), heads: Sequence[int] = (2, 0), fixed: Sequence[int] = ()
) -> Sentence:
    """What is written for a network that predicts UPOS and nothing else beside the tree."""
    none = np.zeros((2, 1), np.int64)
    prediction = Prediction(
        np.zeros((2, 2), np.float32), np.zeros((2, 4), np.float32), none, none, tasks={"upos": np.array([0, 1])}
    )
    tree = Tree(list(heads), np.array([0 if head == 0 else 1 for head in heads]), fixed=frozenset(fixed))
    return write([sentence], [prediction], [tree], LABELS, lift="head", keep=keep)[0]


def test_what_is_not_predicted_is_blank() -> None:
    made = written(gold())
    assert [word.columns[2:6] for word in made] == [("_", "NOUN", "_", "_"), ("_", "VERB", "_", "_")]
    made = written(gold(), keep=["upos", "xpos", "feats", "lemma"])
    assert [word.columns[2:6] for word in made] == [word.columns[2:6] for word in gold()]


def test_lemmas_follow_the_tags_that_are_written() -> None:
    labels = Labels(LABELS.relations, tasks=LABELS.tasks | {"lemma": LabelSet(["whole\tshe", "whole\tfeak"])})
    none, choices = np.zeros((2, 1), np.int64), np.array([0, 1])
    tasks = {"upos": choices, "lemma": choices}
    prediction = Prediction(np.zeros((2, 2), np.float32), np.zeros((2, 4), np.float32), none, none, tasks=tasks)
    rows = [("sleeps", "sleep", "VERB"), ("sleeps", "sleeps", "X"), ("sheets", "sheet", "NOUN"), ("she", "I", "PRON")]
    learnt = [Sentence([Word(n, form, lemma, upos) for n, (form, lemma, upos) in enumerate(rows, 1)])]
    table = collect_lemmas(learnt, ["upos", "lemma"])

    def lemmas(keep: Sequence[str], **options: Any) -> list[str]:
        tree = Tree([2, 0], np.array([1, 0]))
        made = write([gold()], [prediction], [tree], labels, lift="head", keep=keep, **options)[0]
        return [word.lemma for word in made]

    assert lemmas([]) == ["she", "feak"]
    assert lemmas([], lemmas=table) == ["she", "sleep"]  # as NOUN and VERB
    assert lemmas(["upos"], lemmas=table) == ["I", "sleeps"]  # as PRON and X
    assert lemmas(["lemma"], lemmas=table) == ["she", "sleep"]


def test_what_is_not_analysis_stays() -> None:
    given, made = gold(), written(gold())
    assert [(word.form, word.misc, word.start, word.end) for word in made] == [
        (word.form, word.misc, word.start, word.end) for word in given
    ]
    assert (made.comments, made.multiwords) == (given.comments, given.multiwords)


def test_a_new_tree_has_no_enhanced_graph() -> None:
    for made in (written(gold()), written(gold(), fixed=[1]), written(gold(), heads=[0, 1], fixed=[1, 2])):
        assert [word.deps for word in made] == ["_", "_"]
        assert made.empty_nodes == []
    made = written(gold(), fixed=[1, 2])  # all heads were given, and as the sentence has them
    assert [word.deps for word in made] == ["2:nsubj", "0:root"]
    assert made.empty_nodes == gold().empty_nodes


@pytest.mark.parametrize("misc", ["HeadProb=0.5000", "HeadProb=0.5000|SpaceAfter=No", "SpaceAfter=No|HeadProb=0.5000"])
def test_old_probabilities_do_not_survive(misc: str) -> None:
    sentence = gold()
    sentence[0].misc = misc
    sentence.comments[1:1] = ["# tree_prob = 0.5", "# alternative = 2", "#tree_prob=0.5"]
    sentence.comments.append("# head_prob = sampled")
    made = written(sentence)
    assert made.comments == gold().comments
    assert made[0].misc == ("SpaceAfter=No" if "SpaceAfter" in misc else "_")
    assert len(sentence.comments) == 6  # what was given is not changed


def test_what_is_written_shares_nothing_with_what_was_given() -> None:
    sentence = gold()
    made = written(sentence, fixed=[1, 2])
    made.comments.append("# new")
    made.multiwords.clear()
    made.empty_nodes.clear()
    assert sentence == gold()
