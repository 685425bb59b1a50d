"""How much text a student needs: dev LAS of one student, by the number of words that its teacher labelled.

python benchmarks/curve.py WORDS=RUN ...

Every RUN is the folder of a finished `hexatagger train --labels`, and WORDS is what was given to `hexatagger label
--words`. The runs have the same recipe, teacher and gold trees. docs/benchmarks.md says how they are made.
"""

import argparse
from pathlib import Path

from hexatagger.errors import ConfigError
from hexatagger.model.folder import FINISHED, RUN, read_folder, read_json
from hexatagger.train.checkpoint import load_state
from results import save

MEASURES = ("src/hexatagger/train",)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("runs", nargs="+", metavar="WORDS=RUN")
    rows, shared = [], set()
    for given in options.parse_args().runs:
        words, _, path = given.partition("=")
        folder = Path(path)
        recipe, files = read_folder(folder).recipe, read_json(folder / RUN)["files"]
        teachers = ", ".join(sorted({file["name"] for file in files if file["part"] == "teacher"}))
        shared.add((recipe.model, recipe.training, teachers))
        state = load_state(folder / FINISHED)
        epochs = [{name: each[name] for name in ("UAS", "LAS", "UPOS")} for each in state.history]
        rows.append({"words": int(words), "epochs": epochs, "minutes": round(state.seconds / 60)})
    if len(shared) > 1:
        raise ConfigError("the runs differ in their recipe or their teachers: they are no curve")
    [(model, training, teachers)] = shared
    facts = {"teachers": teachers, "layers": model.depth, "gold epochs": training.gold_epochs}
    save("curve", {**facts, "runs": sorted(rows, key=lambda row: row["words"])}, packages=("torch",))


if __name__ == "__main__":
    main()
