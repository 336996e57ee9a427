#!/usr/bin/env bash
# The twins of guests/heap under `--sanitize heap` and, the same sources, under native AddressSanitizer: a Markdown table.
#
#   benches/memory/asan.sh
#
# A cell says what a bad twin is reported as, with the line where that is not the twin's (a tail call's), or – where nothing is said. A good
# twin that is reported ends the script. ASan's columns are empty for Rust and Zig: their stable compilers have no such build.
# Needs target/release/sandglass, and clang with libFuzzer (CLANG=…).
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${CLANG:=clang-14}"
sources=guests/heap/src
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=detect_leaks=0

for level in 0 2; do
  for language in c cc; do
    [ $language = c ] && compiler=$CLANG || compiler=${CLANG/clang/clang++}
    "$compiler" -fsanitize=fuzzer,address -g -w -O$level $sources/twins.$language -o "$work/$language-O$level"
  done
done

# cases LANGUAGE: number, function, weakness and line of each.
cases() {
  awk '
    /^\/\/ case: / { weakness = $NF; named = 0; next }
    weakness && !named && !/^#/ { name = $0; sub(/\(.*/, "", name); sub(/.* /, "", name); named = 1 }
    / \/\/ BAD$/ { print count++, name, weakness, NR; weakness = "" }' "$sources/twins.$1"
}

# at LINE: the line behind a report, in brackets, unless it is this one.
at() {
  local line=${1-}
  [ -z "$line" ] || [ "$line" = "$expected" ] || echo " ($line)"
}

# ours LANGUAGE LEVEL INPUT
ours() {
  local said line
  said=$(target/release/sandglass repro "guests/heap/wasm/twins-$1-O$2.wasm" "$3" --sanitize heap 2>&1 || true)
  line=$(sed -n "s/^ *#[0-9]* .*twins\.$1:\([0-9]*\):.*/\1/p" <<< "$said" | head -1)
  said=$(sed -n 's/.*memory error: \([a-z-]*\).*/\1/p; s/.*: stack overflow.*/stack-overflow/p' <<< "$said" | head -1)
  [ -n "$said" ] && echo "$said$(at "$line")" || echo –
}

# theirs LANGUAGE LEVEL INPUT
theirs() {
  local said line
  [ -e "$work/$1-O$2" ] || return 0
  said=$("$work/$1-O$2" "$3" 2>&1 || true)
  line=$(sed -n "s/^ *#[0-9]* .*twins\.$1:\([0-9]*\).*/\1/p" <<< "$said" | head -1)
  said=$(sed -n 's/.*ERROR: AddressSanitizer: \(attempting [a-z-]*\|[A-Za-z-]*\).*/\1/p' <<< "$said" | head -1)
  said=${said/attempting double-free/double-free} said=${said/attempting free/bad-free}
  [ -n "$said" ] && echo "$said$(at "$line")" || echo –
}

# why OURS THEIRS WEAKNESS FUNCTION: if one of the two says nothing.
why() {
  case $1/$2 in
  */) ;;
  –/–)
    case $3 in
    CWE-457) echo "neither knows what was set" ;;
    *) [ "$4" = from_field_to_field ] && echo "neither knows fields" || echo "neither looks beyond the red zone" ;;
    esac ;;
  –/*stack*) echo "no gaps between the variables of a frame" ;;
  –/*global*) echo "no red zones between globals" ;;
  stack-overflow/–) echo "native stacks are larger" ;;
  */–) echo "its blocks have a byte at least" ;;
  esac
}

echo "| twin | weakness | ours, -O0 | ours, -O2 | ASan, -O0 | ASan, -O2 | if anybody is silent, why |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for language in c cc rs zig; do
  while read -r number function weakness expected; do
    for which in b g; do
      printf "\\x$(printf %02x "$number")$which\0\0\0" > "$work/$which"
    done
    cells=()
    for tool in ours theirs; do
      for level in 0 2; do
        cells+=("$($tool $language $level "$work/b")")
        good=$($tool $language $level "$work/g")
        case $good in – | '') ;; *) echo "$language $function: the good twin is $good at -O$level by $tool" >&2; exit 1 ;; esac
      done
    done
    reason=$(why "${cells[0]}" "${cells[2]}" "$weakness" "$function")
    echo "| \`$function\` ($language) | $weakness | ${cells[0]} | ${cells[1]} | ${cells[2]} | ${cells[3]} | $reason |"
  done < <(cases $language)
done
