#!/usr/bin/env bash
# Type-checks the program for systems that it is not run on, one line a target.
#
#   tests/platforms.sh [TARGET…]          the whole workspace: a compilation of wasmtime's front for each target
#   tests/platforms.sh --small [TARGET…]  the packages without wasmtime
#
# Rust's targets come from rustup; where C is compiled on the way (BLAKE3, wasmtime), Zig does it (`ziglang`, from PyPI),
# which has the headers of every system. Nothing is linked. A target that cannot be had is skipped with a word why.
# The exit code is 1 if some target that can be had does not type-check. Everything lies below target/.
set -uo pipefail
cd "$(dirname "$0")/.."
work=$PWD/target/platforms
mkdir -p "$work"
all=(aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-msvc x86_64-pc-windows-gnu)
what=(--release --workspace --bins --lib)
if [ "${1-}" = --small ]; then
  shift
  what=(--release -p sandglass-abi -p sandglass-sdk -p sandglass-instrument -p sandglass-engine -p sandglass-exchange --lib)
fi
[ $# -gt 0 ] || set -- "${all[@]}"
problems=0

say() { printf '%-28s %s\n' "$1" "$2"; }

zig=()
find_zig() {
  local venv
  for venv in target/guest-tools/venv target/venv; do
    if "$venv/bin/python" -c 'import ziglang' 2>/dev/null; then zig=("$PWD/$venv/bin/python" -m ziglang); return; fi
  done
  if python3 -c 'import ziglang' 2>/dev/null; then zig=(python3 -m ziglang)
  elif command -v zig >/dev/null; then zig=(zig)
  else
    python3 -m venv target/venv && target/venv/bin/pip install -q ziglang==0.17.0 || return 1
    zig=("$PWD/target/venv/bin/python" -m ziglang)
  fi
}

# Zig's name of a target.
zig_target() {
  case $1 in
  *-apple-darwin) echo "${1%%-*}-macos" ;;
  *-windows-*) echo "${1%%-*}-windows-gnu" ;;
  *-linux-gnu) echo "${1%%-*}-linux-gnu" ;;
  *) return 1 ;;
  esac
}

# A compiler for a target by the name that its crates ask for; what they say of the target, it knows.
compiler() {
  {
    echo '#!/bin/sh'
    echo 'for word in "$@"; do shift; case $word in --target=*) ;; *) set -- "$@" "$word" ;; esac; done'
    echo "exec ${zig[*]} cc -target $2 \"\$@\""
  } >"$work/cc-$1"
  chmod +x "$work/cc-$1"
  printf '#!/bin/sh\nexec %s ar "$@"\n' "${zig[*]}" >"$work/ar"
  chmod +x "$work/ar"
}

find_zig || { echo "no Zig: expected python3 with venv, or zig on PATH" >&2; exit 2; }
for target; do
  since=$SECONDS
  if ! zig_name=$(zig_target "$target"); then say "$target" "skipped: no C compiler is known for it"; continue; fi
  if ! rustup target add "$target" >"$work/$target.log" 2>&1; then
    say "$target" "skipped: $(tail -n 1 "$work/$target.log")"
    continue
  fi
  compiler "$target" "$zig_name"
  name=${target//-/_}
  if env CRATE_CC_NO_DEFAULTS=1 "CC_$name=$work/cc-$target" "AR_$name=$work/ar" \
    cargo check --locked "${what[@]}" --target "$target" >"$work/$target.log" 2>&1; then
    warnings=$(grep -c '^warning: `sandglass' "$work/$target.log")
    say "$target" "type-checks ($((SECONDS - since)) s$([ "$warnings" = 0 ] || echo ", packages with warnings: $warnings"))"
  else
    say "$target" "does not type-check, see target/platforms/$target.log:"
    grep -E -A 4 '^error' "$work/$target.log" | head -n 40
    problems=1
  fi
done
exit $problems
