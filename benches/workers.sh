#!/usr/bin/env bash
# Workers: what two of them make of two cores, and that they change nothing.
#
#   benches/workers.sh speed [SUBJECT…]   rate of one campaign with two workers, against two processes that run the
#                                         same campaign at the same time (at least 0.9; 9 seeds, 20 s each)
#   benches/workers.sh same [SUBJECT…]    --seed 1 --execs 200000 with one worker, again, and with two: one state_hash
#
# Needs two idle cores. Builds `sandglass` and the subjects if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-}
case $what in speed | same) shift ;; *) sed -n '2,9s/^# \?//p' "$0"; exit 2 ;; esac
subjects=("$@")
[ $# -gt 0 ] || subjects=(cjson expat sqlite)
guests/build-subjects.sh "${subjects[@]}"
cargo build --quiet --release -p sandglass-runtime --bin sandglass
program=target/release/sandglass
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# campaign NAME SUBJECT OPTION…: its summary, in $work/NAME.json
campaign() {
  local name=$1 subject=$2
  shift 2
  # A new folder each time: ext4 looks for a new file's inode past all that were freed in the last seconds.
  "$program" fuzz "target/subjects/$subject.wasm" "guests/subjects/$subject/seeds" \
    --out "$(mktemp -d "$work/campaign.XXXXXX")" --max-len 4096 --json "$@" | tail -n 1 > "$work/$name.json"
}

# field NAME KEY: a number or a string of a summary
field() { grep -oE "\"$2\":\"?[0-9a-f]+" "$work/$1.json" | grep -oE '[0-9a-f]+$'; }

# How many executions take about ten seconds.
execs_of() { case $1 in sqlite) echo 60000 ;; expat) echo 400000 ;; *) echo 600000 ;; esac; }

# stolen: how long the machine below has kept all cores from us, in ticks of 10 ms; 0 where nobody tells.
stolen() { awk '/^cpu / { print $9 + 0 }' /proc/stat 2>/dev/null || echo 0; }

# All three are the same campaign, so that nobody has inputs that are faster than the others'. A core that is taken
# away for a while stops one process, but both workers: such a run is repeated, up to five times.
speed() {
  local ratios=() execs before spoiled=0
  execs=$(execs_of "$1")
  for seed in 1 2 3 4 5 6 7 8 9; do
    for _ in 1 2 3 4 5; do
      before=$(stolen)
      campaign a "$1" --seed "$seed" --workers 1 --execs "$execs" &
      campaign b "$1" --seed "$seed" --workers 1 --execs "$execs"
      wait
      campaign c "$1" --seed "$seed" --workers 2 --execs "$execs"
      [ $(($(stolen) - before)) -gt 20 ] || break
      spoiled=$((spoiled + 1))
    done
    ratios+=("$(awk -v a="$(field a elapsed_ms)" -v b="$(field b elapsed_ms)" -v c="$(field c elapsed_ms)" \
      'BEGIN { printf "%.3f", (1 / c) / (1 / a + 1 / b) }')")
  done
  printf '%s: %s; median %s (at least 0.9); %s runs repeated\n' "$1" "${ratios[*]}" \
    "$(printf '%s\n' "${ratios[@]}" | sort -n | sed -n 5p)" "$spoiled"
}

same() {
  local hashes=()
  for workers in 1 1 2; do
    campaign a "$1" --seed 1 --execs 200000 --workers "$workers"
    hashes+=("$(field a state_hash)")
  done
  if [ "$(printf '%s\n' "${hashes[@]}" | sort -u | wc -l)" -ne 1 ]; then
    printf '%s: state_hash differs: %s\n' "$1" "${hashes[*]}"
    exit 1
  fi
  printf '%s: three times %s\n' "$1" "${hashes[0]}"
}

for subject in "${subjects[@]}"; do "$what" "$subject"; done
