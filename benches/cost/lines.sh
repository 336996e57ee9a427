#!/usr/bin/env bash
# Executed lines of the word counter, as Perun counts them: gcov's counts of all lines of its source, summed up.
#
#   benches/cost/lines.sh SEED INPUT…     lines of each, and how many times the first's they are
#
# Needs gcc with gcov.
set -euo pipefail
subjects=$(cd "$(dirname "$0")/../../guests/subjects" && pwd)
inputs=()
for input in "$@"; do inputs+=("$(realpath "$input")"); done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.c <<'C'
#include <stdint.h>
#include <stdio.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
static uint8_t input[1 << 24];
int main(void) { return LLVMFuzzerTestOneInput(input, fread(input, 1, sizeof input, stdin)), 0; }
C
gcc -O0 -c main.c
gcc -O0 --coverage -I"$subjects" -c "$subjects/word-count-java/harness.c" -o harness.o
gcc --coverage main.o harness.o -o count
first=
for input in "${inputs[@]}"; do
  rm -f ./*.gcda
  ./count < "$input"
  lines=$(gcov -t harness.o 2> /dev/null | awk -F: '$1 + 0 > 0 { sum += $1 } END { printf "%d", sum }')
  first=${first:-$lines}
  awk -v l="$lines" -v f="$first" -v b="$(stat -c %s "$input")" -v n="$(basename "$input")" \
    'BEGIN { printf "%s: %d bytes, %d lines, %.2f times\n", n, b, l, l / f }'
done
