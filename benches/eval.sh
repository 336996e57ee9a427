#!/usr/bin/env bash
# Guidances compared on the subjects with a semantic stage, judged by one collector.
#
#   benches/eval.sh executions [OPTION…]   9 arms, 10 seeds, 30,000 executions each        (2 hours of CPU time)
#   benches/eval.sh time [OPTION…]         9 arms, 10 seeds, 5 CPU seconds each            (2 hours of CPU time)
#   benches/eval.sh lambda [OPTION…]       3 arms, 20 seeds, 30,000 executions on the handlers of a cloud    (half an hour of CPU time)
#   benches/eval.sh magic [OPTION…]        8 arms, 20 seeds, 10,000 executions on the magic branches          (5 minutes of CPU time)
#   benches/eval.sh targeting              where the time goes on the handlers, and what targeting costs     (5 minutes of CPU time)
#   benches/eval.sh frozen [OPTION…]       sandglass against published guidances, 10 subjects, 20 seeds, 25 CPU seconds each (11 hours of
#                                          CPU time; goes on where it was stopped; options are those of `eval frozen run`)
#   benches/eval.sh tables                 the tables of benches/EVAL.md, from the results that are checked in
#   options: those of `eval run`, such as --jobs N, --seeds N, --arms ARM,ARM; they come last, so they win
#
# Builds what is missing. Results go to target/eval/. Linux.
set -euo pipefail
cd "$(dirname "$0")/.."

row=${1:-}
case $row in executions | time | lambda | magic | targeting | frozen | tables) shift ;; *) sed -n '2,14s/^# \?//p' "$0"; exit 2 ;; esac
cargo build --quiet --release -p sandglass-benches --bin eval
if [ "$row" = tables ]; then
  mapfile -t results < <(ls benches/eval/results/*.jsonl | grep -v -e /choices- -e /frozen -e /lambda- -e /magic-)
  exec target/release/eval table "${results[@]}"
fi
handlers=(rust-lambda-{csv-load,history,image-year,lookup,resize,survey,unzip})
results=target/eval/$row.jsonl
case $row in
lambda)
  guests/build-subjects.sh "${handlers[@]}"
  target/release/eval run "${handlers[@]}" --seeds 20 --execs 30000 --arms zest,zest-str,spoton --results "$results" "$@"
  target/release/eval pairs "$results"
  exec target/release/eval goals "$results"
  ;;
magic)
  guests/build-subjects.sh rust-magic
  target/release/eval run rust-magic --seeds 20 --execs 10000 --arms "zest,zest-str,spoton,sandglass$(printf ',sandglass-%s' unsolved unhinted stringless before)" --results "$results" "$@"
  exec target/release/eval goals "$results"
  ;;
frozen)
  guests/build-subjects.sh libxml2-xsd lua-load quickjs-compile rust-naga rust-wasm sqlite-steps rust-magic rust-lambda-{csv-load,unzip,image-year} \
    rust-boa mujs pugixml rust-json rust-xml
  target/release/eval frozen run --results "$results" "$@"
  exec target/release/eval frozen table "$results"
  ;;
targeting)
  guests/build-subjects.sh "${handlers[@]}"
  target/release/eval phases "${handlers[@]}"
  exec target/release/eval overhead "${handlers[@]}"
  ;;
esac
subjects=(libxml2-xsd lua-load lua-load-old quickjs-compile quickjs-compile-old rust-naga rust-naga-old rust-wasm sqlite-steps)
guests/build-subjects.sh "${subjects[@]}"
case $row in
executions) budget=(--execs 30000 --arms quickcheck,afl-text,zest,bediv-simple,bediv-structure,bediv-learnt,rlcheck,zeugma,sandglass) ;;
time) budget=(--seconds 5 --arms quickcheck,afl-text,zest,bediv-simple,bediv-structure,rlcheck,zeugma,ei,sandglass) ;;
esac
target/release/eval run "${subjects[@]}" "${budget[@]}" --results "$results" "$@"
target/release/eval table "$results"
target/release/eval curves "$results" target/eval/curves
