#!/usr/bin/env bash
# Real crates as they are: every fuzz target of cargo-fuzz projects built and run without an edit.
#
#   benches/cargo-fuzz.sh CRATE...     folders of crates that have a `fuzz/`, such as clones of their repositories
#
# A Markdown row for each target: seconds to build it (the first of a crate builds its dependencies, too), edges and
# executions a second of EXECS executions (50000 unless set) from the project's own corpus with seed 1, and findings.
# What does not build has the last line that cargo said. Needs target/release/sandglass, cargo and jq.
set -uo pipefail
[ $# -gt 0 ] || { sed -n '2,8s/^# \?//p' "$0"; exit 2; }
sandglass=$(cd "$(dirname "$0")/.." && pwd)/target/release/sandglass
execs=${EXECS:-50000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "| crate | target | built in | edges | executions a second | findings |"
echo "| --- | --- | ---: | ---: | ---: | --- |"
failed=0
for crate in "$@"; do
  name=$(basename "$crate")
  targets=$(cargo metadata --no-deps --format-version 1 --manifest-path "$crate/fuzz/Cargo.toml" 2> "$work/log" |
    jq -r '.packages[] | select(.metadata["cargo-fuzz"]) | .targets[] | select(.kind[] == "bin") | .name')
  if [ -z "$targets" ]; then
    echo "| $name | **none**: $(tail -1 "$work/log") | | | | |"
    failed=1
    continue
  fi
  for target in $targets; do
    begin=$SECONDS
    if ! "$sandglass" build "$target" --manifest-path "$crate/fuzz" --out "$work/$target.wasm" > "$work/log" 2>&1; then
      echo "| $name | $target | **not**: $(grep -m1 '^error' "$work/log") | | | |"
      failed=1
      continue
    fi
    took=$((SECONDS - begin))
    seeds=("$crate/fuzz/corpus/$target")
    [ -d "${seeds[0]}" ] || seeds=()
    rm -rf "$work/out"
    "$sandglass" fuzz "$work/$target.wasm" "${seeds[@]}" --seed 1 --execs "$execs" --json --out "$work/out" > "$work/events" 2> "$work/log"
    code=$?
    # 0 and 1 are campaigns that ended, without findings and with.
    if [ "$code" -gt 1 ]; then
      echo "| $name | $target | $took s | **not run**: $(grep -m1 '^error' "$work/log") | | |"
      failed=1
      continue
    fi
    findings=$(jq -r 'select(.event == "finding") | .title' "$work/events" | sort -u | paste -sd ';')
    jq -r --arg head "| $name | $target | $took s |" --arg findings "${findings:-none}" \
      'select(.event == "summary") | "\($head) \(.edges) of \(.edges_total) | \(.execs_per_sec) | \($findings) |"' "$work/events"
  done
done
exit $failed
