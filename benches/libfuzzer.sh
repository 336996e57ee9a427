#!/usr/bin/env bash
# Against native libFuzzer: same harness sources, one core, CPU time, full reset on our side.
#
#   benches/libfuzzer.sh rate       inputs replayed through both builds: cJSON, Expat, SQLite       (10 minutes)
#   benches/libfuzzer.sh campaigns  executions per CPU-second: an empty target, a small JSON parser  (4 minutes)
#   benches/libfuzzer.sh reach      edges after 60 CPU-seconds, 10 seeds: and PCRE2                  (85 minutes)
#   options of each: [SUBJECT…] [--reps N] [--seconds N] [--results FILE.jsonl]
#
# Builds what is missing: `sandglass`, subjects for wasm (guests/build-subjects.sh) and with clang (CLANG=…). Installs
# nothing on the system. Linux.
set -euo pipefail
cd "$(dirname "$0")/.."

row=${1:-}
case $row in
rate) subjects=(cjson expat sqlite) ;;
campaigns) subjects=(empty json-small) ;;
reach) subjects=(cjson expat sqlite pcre2) ;;
*) sed -n '2,10s/^# \?//p' "$0"; exit 2 ;;
esac
shift
# Subjects come first, as the help says.
given=()
for word in "$@"; do
  case $word in -*) break ;; *) given+=("$word") ;; esac
done
[ ${#given[@]} -eq 0 ] || subjects=("${given[@]}")

if [ -z "${CLANG:-}" ]; then
  for CLANG in clang-14 clang; do ! command -v "$CLANG" > /dev/null || break; done
fi
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
printf '#include <stddef.h>\nint LLVMFuzzerTestOneInput(const char *d, size_t n) { return 0; }\n' > "$probe/probe.c"
if ! "$CLANG" -fsanitize=fuzzer,address "$probe/probe.c" -o "$probe/probe" 2> "$probe/log"; then
  cat "$probe/log" >&2
  echo "no clang with libFuzzer; on Debian: apt-get install clang-14 lld-14 libclang-rt-14-dev (or set CLANG)" >&2
  exit 2
fi

guests/build-subjects.sh "${subjects[@]}"
CLANG=$CLANG KIT=native SAN=none guests/build-subjects.sh "${subjects[@]}"
if [ "$row" = rate ]; then
  CLANG=$CLANG KIT=native SAN=address guests/build-subjects.sh "${subjects[@]}"
  mkdir -p target/libfuzzer
  "$CLANG" -O2 -Wall -Wextra -shared -fPIC benches/libfuzzer/replay.c -o target/libfuzzer/replay.so
fi
cargo build --quiet --release -p sandglass-runtime --bin sandglass -p sandglass-benches --bin libfuzzer
exec target/release/libfuzzer "$row" "$@"
