#!/usr/bin/env bash
# Makes the embedded English models again, from the treebank, two encoders and English text without trees:
#
#     recipes/en.sh UD_English-EWT MINILM MPNET TEXT OUT [WORDS]
#
# MINILM and MPNET are folders or Hugging Face names (all-MiniLM-L6-v2 and all-mpnet-base-v2 of sentence-transformers).
# TEXT is a file of raw text, one paragraph per line (.gz and .xz too). A random sample of WORDS is used (default
# 2,000,000). Two large models are trained and label the text and the treebank, and the small models learn from these
# labels. If it is stopped, the same command continues it. The models are OUT/en and OUT/en-fast. CPUs with avx512_bf16
# or AMX are 1.5 times as fast with PRECISION=bf16.
set -euo pipefail
[[ $# == 5 || $# == 6 ]] || { sed -n '2,11s/^# \?//p' "$0"; exit 1; }
recipes=$(dirname "$0") treebank=$1 minilm=$2 mpnet=$3 text=$4 out=$5 words=${6:-2000000}
train=$treebank/en_ewt-ud-train.conllu dev=$treebank/en_ewt-ud-dev.conllu
cores=$(nproc)

learn() {  # FOLDER RECIPE OPTIONS…: train, or go on
  local folder=$1 recipe=$2 going=()
  if [[ -d $folder ]]; then going=(--resume); fi
  hexatagger train "$recipes/$recipe" --train "$train" --dev "$dev" --out "$folder" \
    --set "training.precision=${PRECISION:-auto}" "${@:3}" "${going[@]}"
}

mkdir -p "$out"
learn "$out/teacher-a" en-ewt-mpnet.toml --encoder "$mpnet" --segmenter
learn "$out/teacher-b" en-ewt-mpnet.toml --encoder "$mpnet" --set model.relations=pairs --set training.seed=2
teachers=(--teacher "$out/teacher-a" --teacher "$out/teacher-b" --workers "$cores")
hexatagger label "${teachers[@]}" --out "$out/labels-gold" --from conllu "$train"
hexatagger label "${teachers[@]}" --out "$out/labels-text" --words "$words" "$text"
labels=(--labels "$out/labels-gold" --labels "$out/labels-text")
learn "$out/student" en-ewt-minilm.toml --encoder "$minilm" "${labels[@]}"
learn "$out/student-fast" en-ewt-minilm.toml --encoder "$minilm" "${labels[@]}" --set model.depth=3 --set model.head_scores=0
for name in en en-fast; do
  [[ -d $out/$name ]] || hexatagger package "$out/student${name#en}" "$out/$name" --segmenter "$out/teacher-a" --dev "$dev" \
    --made "recipes/en.sh UD_English-EWT all-MiniLM-L6-v2 all-mpnet-base-v2 TEXT OUT $words"
done
