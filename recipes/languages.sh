#!/usr/bin/env bash
# Trains the models of all languages, or of those named, and packages them as models/CODE:
#
#     recipes/languages.sh [CODE…]
#
# The treebanks are in UD (default: $HEXATAGGER_SHARED/ud, ../shared/ud without it). UD/languages.tsv names the files that
# train and select each model. Where TEXT (default: $HEXATAGGER_SHARED/text) has raw text of the language, CODE.txt.xz, two
# models with different seeds label 500,000 words of it, a third one learns from the treebank and these labels, and the
# better one of the first and the third is packaged. This helps treebanks of up to 30,000 words; TEXT= leaves it out. The
# training folders are RUNS/CODE (default: runs/CODE). Where RUNS has CODE.vec.gz, word vectors that vectors.py wrote, the
# model gets them too. WORDS bounds the words of all epochs, for a slow machine (default: as in language.toml). JOBS
# models are trained at once (default: the number of cores), each with one thread. Finished models are left alone, and
# if it is stopped, the same command continues it. It ends with a table of all models.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
shared=${HEXATAGGER_SHARED:-../shared}
export root UD=${UD:-$shared/ud} TEXT=${TEXT-$shared/text} RUNS=${RUNS:-runs} WORDS=${WORDS:-} OMP_NUM_THREADS=1
[[ -f $UD/languages.tsv ]] || { echo "$UD/languages.tsv is not there: set UD to the folder of treebanks" >&2; exit 1; }

# Related languages whose treebanks the parser also learns from. Croatian and Serbian do not learn from each other: their
# treebanks are parallel texts, so each nearly contains the dev set of the other.
declare -A related=(
  [af]=nl [be]="uk ru" [ca]=es [cop-bohairic]=cop [cs]=sk [da]="no sv" [de]=nl [es]="ca gl" [fo]=is [ga]=gd [gd]=ga
  [gl]="pt es" [gv]="ga gd" [hr]=sl [hyw]=hy [it-old]=it [lt]=lv [lv]=lt [nds]="nl de" [nl]="de af" [nn]=no [no]="da sv"
  [pl]="cs sk" [ru]="uk be" [sk]=cs [sl]="hr sr" [sv]="no da" [uk]="be ru"
)

row() {  # CODE COLUMN: a cell of languages.tsv
  awk -F '\t' -v code="$1" -v column="$2" '$1 == code { print $column }' "$UD/languages.tsv"
}

sources() {  # FILE…: the treebanks that the files are from, with their releases
  local file folder
  for file in "$@"; do
    folder=$UD/${file%%/*}
    if [[ -f $folder/COMMIT.txt ]]; then
      echo "${file%%/*} $(sed -n 's/^newest release tag contained: //p' "$folder/COMMIT.txt")"
    else  # assembled from several: each sentence names its own
      unpacked "$UD/$file" | sed -n 's/^# treebank = //p'
    fi
  done | sort -u | paste -sd, | sed 's/,/, /g'
}

columns() {  # FILE…: those of upos, feats and lemma that the files have for words, as a list in TOML
  local file
  for file in "$@"; do unpacked "$UD/$file"; done | awk -F '\t' '
    $1 ~ /^[0-9]+$/ { upos += $4 != "_"; feats += $6 != "_"; lemma += $3 != "_" && $4 != "PUNCT" && $4 != "SYM" }
    END { print "[" (upos ? "\"upos\"," : "") (feats ? "\"feats\"," : "") (lemma ? "\"lemma\"" : "") "]" }'
}

unpacked() { case $1 in *.xz) xz -dc "$1" ;; *) cat "$1" ;; esac; }

learn() {  # FOLDER OPTIONS…: train, or go on
  local folder=$1 going=()
  [[ -d $folder ]] && going=(--resume)
  hexatagger train "$root/recipes/language.toml" --out "$folder" "${@:2}" "${going[@]}"
}

best() {  # FOLDER: its LAS on dev
  sed -n 's/^ *"best": \([0-9.]*\).*/\1/p' "$1/training.json"
}

teach() {  # if there is text: let $run and its twin label it, and train a student, which is $run from now on if better
  [[ -f $TEXT/$code.txt.xz ]] || return 0
  learn "$run-twin" "${files[@]}" "${relatives[@]}" --set training.seed=2 &&
    hexatagger label --teacher "$run" --teacher "$run-twin" --out "$run-labels" --words 500000 "$TEXT/$code.txt.xz" &&
    learn "$run-taught" "${files[@]}" --labels "$run-labels" --set training.words=0 --set training.epochs=9 \
      --set training.gold_epochs=5 &&
    if awk "BEGIN { exit $(best "$run-taught") <= $(best "$run") }"; then run=$run-taught; fi
}

make_model() {  # CODE [RELATED LANGUAGES]
  local code=$1 other file
  local name train dev model=$root/models/$code run=$RUNS/$code files=() relatives=()
  name=$(row "$code" 2) train=$(row "$code" 3) dev=$(row "$code" 4)
  [[ $name ]] || { echo "$code is not in $UD/languages.tsv" >&2; return 1; }
  [[ -d $model ]] && return
  local licences all=$train
  licences=$(row "$code" 8)
  for file in $train; do files+=(--train "$UD/$file"); done
  for other in $2; do
    all+=" $(row "$other" 3)" licences+=" + $(row "$other" 8)"
    for file in $(row "$other" 3); do relatives+=(--related "$UD/$file"); done
  done
  licences=$(sed 's/ + /\n/g' <<<"$licences" | sort -u | paste -sd+ | sed 's/+/ + /g')
  if [[ -f $RUNS/$code.vec.gz ]]; then
    files+=(--vectors "$RUNS/$code.vec.gz" --set "card.description=$(cat "$RUNS/$code.vec.txt")")
  fi
  # shellcheck disable=SC2086  # file names have no spaces
  files+=(--dev "$UD/$dev" --segmenter --set "card.title=$name" --set "card.language=$code" --set "card.licence=$licences"
    --set "card.treebanks=$(sources $all $dev)" --set "model.tasks=$(columns $train)")
  [[ $WORDS ]] && files+=(--set "training.words=$WORDS")
  local given=${WORDS:+WORDS=$WORDS }
  [[ $TEXT ]] || given+="TEXT= "
  mkdir -p "$RUNS"
  { learn "$run" "${files[@]}" "${relatives[@]}" && teach && hexatagger package "$run" "$model" --dev "$UD/$dev" \
    --made "${given}recipes/languages.sh $code"; } &>"$RUNS/$code.log" ||
    { echo "$code failed: see $RUNS/$code.log" >&2; return 1; }
  echo "$code is done"
}
export -f make_model learn best teach row sources columns unpacked

if [[ $# == 0 ]]; then
  mapfile -t codes < <(tail -n +2 "$UD/languages.tsv" | cut -f1 | grep -vx en)
  set -- "${codes[@]}"
fi
failed=0
for code in "$@"; do printf '%s\0' "$code" "${related[$code]:-}"; done |
  xargs -0 -P "${JOBS:-$(env -u OMP_NUM_THREADS nproc)}" -n 2 bash -c 'make_model "$1" "$2"' make_model || failed=1
HEXATAGGER_MODELS=$root/models hexatagger models
exit "$failed"
