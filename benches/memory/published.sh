#!/usr/bin/env bash
# Published memory errors in old versions of real libraries: executions until each is found, by `sandglass fuzz --sanitize heap`
# and by native libFuzzer with AddressSanitizer, from the same harness and the same ordinary seeds.
#
#   benches/memory/published.sh [SECONDS [RUNS]]     of each run at most, 120 and 3 unless given; a Markdown table
#
# A run of ours ends when the error is among its findings. libFuzzer stops at each crash; one that is another error is
# counted, and the next process goes on with its corpus. Needs target/release/sandglass, and clang with libFuzzer (CLANG=…).
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-120} runs=${2:-3}
: "${CLANG:=clang-14}"

# Subject, published as, and what the stack of the error has in it.
bugs=(
  "zlib-header-old CVE-2022-37434 inflate"
  "stb-image-old CVE-2019-15058 stbi__tga_load"
  "expat-old CVE-2016-0718 toUtf8"
  "libxml2-old CVE-2016-2073 htmlParseNameComplex"
  "libxml2-old CVE-2016-4483 xmlBufAttrSerializeTxtContent"
)
subjects=(zlib-header-old stb-image-old expat-old libxml2-old)
guests/build-subjects.sh "${subjects[@]}" >&2
CLANG=$CLANG KIT=native SAN=address guests/build-subjects.sh "${subjects[@]}" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

# ours SUBJECT PATTERN SEED: prints the execution at which it was found, or nothing.
ours() {
  target/release/sandglass fuzz "target/subjects/$1.wasm" "guests/subjects/$1/seeds" --sanitize heap --seed "$3" \
    --time "${seconds}s" --out "$work/ours" > "$work/log" 2>&1 &
  local campaign=$!
  tail --pid=$campaign -n +1 -f "$work/log" 2> /dev/null | awk -v pattern="$2" '
    /^FINDING/ { found = /^FINDING memory/ ? $5 : "" }
    found && index($0, pattern) { gsub(/[,:]/, "", found); print found; exit }' || true
  kill $campaign 2> /dev/null || true
  wait $campaign || true
  rm -rf "$work/ours"
}

# theirs SUBJECT PATTERN SEED: likewise.
theirs() {
  local total=0 end=$((SECONDS + seconds)) seed=$3
  mkdir "$work/corpus"
  while [ $SECONDS -lt $end ]; do
    "target/subjects-native/$1-asan" -seed="$seed" -max_total_time=$((end - SECONDS)) -timeout=10 -rss_limit_mb=0 \
      -print_final_stats=1 -artifact_prefix="$work/" "$work/corpus" "guests/subjects/$1/seeds" > "$work/log" 2>&1 || true
    total=$((total + $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")))
    if awk -v pattern="$2" '
        /ERROR: AddressSanitizer: (heap|global|stack|use|double|attempting)/ { report = 1 }
        /is located|freed by|allocated by/ { report = 0 }
        report && index($0, pattern) { found = 1 }
        END { exit !found }' "$work/log"; then
      echo "$total"
      break
    fi
    seed=$((seed + 1000))
  done
  rm -rf "$work/corpus"
}

# all FUNCTION SUBJECT PATTERN: one run for each seed, as a cell.
all() {
  local cell= seed found
  for ((seed = 1; seed <= runs; seed++)); do
    found=$("$1" "$2" "$3" "$seed")
    cell+=${cell:+, }${found:-–}
  done
  echo "$cell"
}

echo "| subject | published as | the stack has | executions, ours | libFuzzer and ASan |"
echo "| --- | --- | --- | --- | --- |"
for bug in "${bugs[@]}"; do
  read -r subject cve pattern <<< "$bug"
  echo "| \`$subject\` | $cve | \`$pattern\` | $(all ours "$subject" "$pattern") | $(all theirs "$subject" "$pattern") |"
done
