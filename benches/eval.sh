#!/usr/bin/env bash
# Guidances compared on the subjects with a semantic stage, judged by one collector.
#
#   benches/eval.sh executions [OPTION…]   9 arms, 10 seeds, 30,000 executions each        (2 hours of CPU time)
#   benches/eval.sh time [OPTION…]         9 arms, 10 seeds, 5 CPU seconds each            (2 hours of CPU time)
#   benches/eval.sh tables                 the tables of benches/EVAL.md, from the results that are checked in
#   options: those of `eval run`, such as --jobs N, --seeds N, --arms ARM,ARM; they come last, so they win
#
# Builds what is missing. Results go to target/eval/. Linux.
set -euo pipefail
cd "$(dirname "$0")/.."

row=${1:-}
case $row in executions | time | tables) shift ;; *) sed -n '2,9s/^# \?//p' "$0"; exit 2 ;; esac
cargo build --quiet --release -p sandglass-benches --bin eval
if [ "$row" = tables ]; then
  exec target/release/eval table benches/eval/results/*.jsonl
fi
subjects=(libxml2-xsd lua-load lua-load-old quickjs-compile quickjs-compile-old rust-naga rust-naga-old rust-wasm sqlite-steps)
guests/build-subjects.sh "${subjects[@]}"
case $row in
executions) budget=(--execs 30000 --arms quickcheck,afl-text,zest,bediv-simple,bediv-structure,bediv-learnt,rlcheck,zeugma,sandglass) ;;
time) budget=(--seconds 5 --arms quickcheck,afl-text,zest,bediv-simple,bediv-structure,rlcheck,zeugma,ei,sandglass) ;;
esac
results=target/eval/$row.jsonl
target/release/eval run "${subjects[@]}" "${budget[@]}" --results "$results" "$@"
target/release/eval table "$results"
target/release/eval curves "$results" target/eval/curves
