#!/usr/bin/env bash
# False alarms: campaigns with `--sanitize heap` over every subject that is built, old versions left out. Each memory error that
# is found is printed with its finding, to be looked at: it is the subject's, or a false alarm.
#
#   benches/memory/alarms.sh [EXECS [SECONDS]]     of each campaign at most, 50000 and 60 unless given
#
# Needs target/release/sandglass and subjects (guests/build-subjects.sh).
set -euo pipefail
cd "$(dirname "$0")/../.."
execs=${1:-50000} seconds=${2:-60}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

total=0
echo "| subject | executions | memory errors |"
echo "| --- | ---: | ---: |"
for module in target/subjects/*.wasm; do
  subject=$(basename "$module" .wasm)
  case $subject in *-old) continue ;; esac
  target/release/sandglass fuzz "$module" "guests/subjects/$subject/seeds" --sanitize heap --execs "$execs" --time "${seconds}s" \
    --out "$work/$subject" > "$work/log" 2>&1 || true
  ran=$(sed -n 's/^ *[0-9hms.]* \([0-9,]*\) executions .*/\1/p' "$work/log" | tail -1 | tr -d ,)
  echo "| $subject | ${ran:-0} | $(grep -c '^FINDING memory' "$work/log" || true) |"
  grep -A 12 '^FINDING memory' "$work/log" >&2 || true
  total=$((total + ${ran:-0}))
done
echo "| all | $total | |"
