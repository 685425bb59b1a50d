"""Tiny random encoders of every family, and a treebank of our own small enough to be learnt by heart in seconds."""

from pathlib import Path
from typing import Any

FAMILIES = ("bert", "electra", "mpnet", "roberta", "xlm-roberta", "deberta-v2", "xlnet")

RECIPE = """
[model]
encoder = "characters"
char_width = 48
char_buckets = 500
lstm_layers = 1
lstm_width = 48
dropout = 0.1
tasks = ["upos", "xpos", "feats", "lemma"]

[training]
epochs = 40
batch = 5
head_rate = 0.01
task_weight = 1.0
"""
"""A recipe that learns this treebank by heart."""

_TREES = [
    # Words, heads, relations, UPOS, lemmas; `~` stands for a space inside a word, `^` for a soft hyphen.
    "She reads papers . | 2 0 2 2 | nsubj root obj punct | PRON VERB NOUN PUNCT | she read paper .",
    "He sleeps | 2 0 | nsubj root | PRON VERB | he sleep",
    "Stop | 0 | root | VERB | stop",
    "The old dog barks loudly | 3 3 4 0 4 | det amod nsubj root advmod"
    " | DET ADJ NOUN VERB ADV | the old dog bark loudly",
    "Anna saw 10~000 birds | 2 0 4 2 | nsubj root nummod obj | PROPN VERB NUM NOUN | Anna see 10~000 bird",
    "We walked home and sang | 2 0 2 5 2 | nsubj root advmod cc conj"
    " | PRON VERB ADV CCONJ VERB | we walk home and sing",
    "What did she say happened ? | 5 4 4 0 4 4 | nsubj aux nsubj root ccomp punct"
    " | PRON AUX PRON VERB VERB PUNCT | what do she say happen ?",
    "A ^ letter came today | 3 3 4 0 4 | det dep nsubj root advmod | DET X NOUN VERB ADV | a ^ letter come today",
    "The hearing on the issue is today | 2 7 5 5 2 7 0 | det nsubj case det nmod cop root"
    " | DET NOUN ADP DET NOUN AUX ADV | the hearing on the issue be today",
    "Dogs that bark rarely bite | 5 3 1 5 0 | nsubj nsubj acl advmod root | NOUN PRON VERB ADV VERB"
    " | dog that bark rarely bite",
]


def conllu(repeat: int = 1) -> str:
    """Return the treebank as CoNLL-U."""
    lines: list[str] = []
    for tree in _TREES * repeat:
        columns = [part.split() for part in tree.split("|")]
        columns = [[each.replace("~", " ").replace("^", "\u00ad") for each in part] for part in columns]
        for number, (form, head, deprel, upos, lemma) in enumerate(zip(*columns, strict=True), 1):
            feats = "Number=Plur" if upos == "NOUN" and form.endswith("s") else "_"
            lines.append(f"{number}\t{form}\t{lemma}\t{upos}\t{upos[:2]}\t{feats}\t{head}\t{deprel}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


def write_treebank(folder: Path, repeat: int = 1) -> Path:
    """Write the treebank to a file."""
    path = folder / f"tiny-{repeat}.conllu"
    path.write_text(conllu(repeat), encoding="utf-8")
    return path


def make_tokenizer(family: str) -> Any:
    """Train a tokenizer of a family on the treebank."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    words = [line.split("\t")[1] for line in conllu().splitlines() if line]
    if family in ("bert", "electra", "mpnet"):
        unknown, special = "[UNK]", ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        if family == "mpnet":
            special = ["<s>", "<pad>", "</s>", "[UNK]"]
        tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.train_from_iterator(
            words, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
        )
        tokenizer.enable_truncation(max_length=16)  # as many published files have it: it must not bite
        tokenizer.enable_padding(length=16, pad_id=0, pad_token=special[0])
    elif family == "roberta":
        special = ["<s>", "<pad>", "</s>", "<unk>"]
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator([" " + word for word in words], trainer)
    else:
        special = {
            "xlm-roberta": ["<s>", "<pad>", "</s>", "<unk>"],
            "deberta-v2": ["[PAD]", "[CLS]", "[SEP]", "[UNK]"],
            "xlnet": ["<unk>", "<sep>", "<cls>", "<pad>"],
        }[family]
        unknown = next(name for name in special if "unk" in name.lower())
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        unigrams = trainers.UnigramTrainer(
            vocab_size=120, special_tokens=special, unk_token=unknown, show_progress=False
        )
        tokenizer.train_from_iterator(words, unigrams)
    numbers = [(name, tokenizer.token_to_id(name)) for name in special]
    if family in ("mpnet", "roberta"):
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    else:
        single = {"xlm-roberta": "<s> $A </s>", "xlnet": "$A <sep> <cls>"}.get(family, "[CLS] $A [SEP]")
        tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=numbers)
    return tokenizer


def make_encoder(folder: Path, family: str = "bert", *, width: int = 32, positions: int = 64) -> Path:
    """Write a random encoder of a family with its tokenizer, as Hugging Face has them, and return its folder."""
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    tokenizer = make_tokenizer(family)
    pads = [tokenizer.token_to_id(name) for name in ("[PAD]", "<pad>")]
    settings: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 2 * width,
        "max_position_embeddings": positions,
        "pad_token_id": next(number for number in pads if number is not None),
    }
    if family == "xlnet":
        settings = {
            "vocab_size": settings["vocab_size"],
            "d_model": width,
            "n_layer": 2,
            "n_head": 2,
            "d_inner": 2 * width,
        }
    elif family == "electra":
        settings["embedding_size"] = width // 2
    elif family == "deberta-v2":
        settings |= {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8}
    place = folder / f"tiny-{family}"
    auto: Any = AutoModel
    auto.from_config(AutoConfig.for_model(family, **settings)).save_pretrained(place)
    tokenizer.save(str(place / "tokenizer.json"))
    return place


def spoil(model: Any, name: str) -> Any:
    """Change one output of an ONNX graph: scores by a tenth, labels to the ones before them."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    [output] = [each for each in graph.output if each.name == name]
    floats = output.type.tensor_type.elem_type == TensorProto.FLOAT
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [f"{name}.true" if each == name else each for each in names]
    change = np.array(0.1, np.float32) if floats else np.array(-1, np.int32)
    graph.initializer.append(numpy_helper.from_array(change, f"{name}.change"))
    graph.node.append(helper.make_node("Add", [f"{name}.true", f"{name}.change"], [name]))
    return model
