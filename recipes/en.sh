#!/usr/bin/env bash
# Makes the embedded English model again, from the treebank and two encoders, in some three hours on two cores:
#
#     recipes/en.sh UD_English-EWT MINILM MPNET OUT
#
# MINILM and MPNET are folders or Hugging Face names (all-MiniLM-L6-v2 and all-mpnet-base-v2 of sentence-transformers).
# What is begun goes on where it stopped when the same command is given again. The model is left in OUT/en.
set -euo pipefail
[[ $# == 4 ]] || { sed -n '2,7s/^# \?//p' "$0"; exit 1; }
recipes=$(dirname "$0") treebank=$1 minilm=$2 mpnet=$3 out=$4
files=(--train "$treebank/en_ewt-ud-train.conllu" --dev "$treebank/en_ewt-ud-dev.conllu")

learn() {  # RECIPE FOLDER OPTIONS…: train, or go on
  local recipe=$1 folder=$2 going=()
  if [[ -d $folder ]]; then going=(--resume); fi
  hexatagger train "$recipes/$recipe" "${files[@]}" --out "$folder" "${@:3}" "${going[@]}"
}

mkdir -p "$out"
learn en-ewt-mpnet.toml "$out/teacher" --encoder "$mpnet" --segmenter
[[ -s $out/text.conllu ]] || python "$recipes/en_text.py" "$out/teacher" "$out/text.conllu"
learn en-ewt-minilm.toml "$out/student" --encoder "$minilm" --teacher "$out/teacher" --unlabelled "$out/text.conllu"
hexatagger package "$out/student" "$out/en" --segmenter "$out/teacher" --dev "$treebank/en_ewt-ud-dev.conllu" \
  --made "recipes/en.sh UD_English-EWT all-MiniLM-L6-v2 all-mpnet-base-v2 OUT"
