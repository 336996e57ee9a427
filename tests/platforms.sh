#!/usr/bin/env bash
# Type-checks the program for systems that it is not run on, one line a target.
#
#   tests/platforms.sh [TARGET…]           the whole workspace, wasmtime included: minutes for each target
#   tests/platforms.sh --memory [TARGET…]  only the files that call the system for guest memory, and their tests, as a
#                                          package of their own: seconds. Where cargo is told of a runner and a linker
#                                          (CARGO_TARGET_<TARGET>_RUNNER, …_LINKER: QEMU, Wine), the tests are run, too
#
# Rust's targets come from rustup; where C is compiled on the way (BLAKE3, wasmtime), Zig does it (`ziglang`, from PyPI),
# which has the headers of every system. The check links nothing. A target that cannot be had is skipped with a word why.
# The exit code is 1 if some target that can be had does not type-check. What is made lies below target/.
set -uo pipefail
cd "$(dirname "$0")/.."
work=$PWD/target/platforms
mkdir -p "$work"
memory=
if [ "${1-}" = --memory ]; then memory=1; shift; fi
[ $# -gt 0 ] || set -- aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-msvc x86_64-pc-windows-gnu
problems=0

say() { printf '%-26s %s\n' "$1" "$2"; }

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

# Writes a C compiler for a target ($1, Zig's name $2), which knows already what crates tell it of the target, and an archiver.
write_compiler() {
  cat >"$work/cc-$1" <<END
#!/bin/sh
for word in "\$@"; do shift; case \$word in --target=*) ;; *) set -- "\$@" "\$word" ;; esac; done
exec ${zig[*]} cc -target $2 "\$@"
END
  # What is for MSVC calls the archiver as Microsoft's.
  local archiver=ar
  case $1 in *-msvc) archiver=lib ;; esac
  printf '#!/bin/sh\nexec %s %s "$@"\n' "${zig[*]}" "$archiver" >"$work/ar"
  chmod +x "$work/cc-$1" "$work/ar"
}

check_workspace() {
  local zig_name name=${1//-/_}
  zig_name=$(zig_target "$1") || { echo "no C compiler is known for $1"; return 2; }
  [ ${#zig[@]} -gt 0 ] || find_zig || { echo "no Zig, expected python3 with venv, or zig on PATH"; return 2; }
  write_compiler "$1" "$zig_name"
  env CRATE_CC_NO_DEFAULTS=1 "CC_$name=$work/cc-$1" "AR_$name=$work/ar" \
    cargo check --locked --release --workspace --bins --lib --target "$1"
}

# A package that holds `pages` alone, which knows no wasmtime, with the versions of the workspace.
write_memory() {
  local pages=$PWD/runtime/sandbox/src/pages
  mkdir -p "$work/memory/src"
  {
    printf '[package]\nname = "memory"\nedition = "2024"\n[workspace]\n'
    printf "[target.'cfg(unix)'.dependencies]\n"; grep '^libc = ' Cargo.toml
    printf "[target.'cfg(windows)'.dependencies]\n"; grep '^windows-sys = ' Cargo.toml
  } >"$work/memory/Cargo.toml"
  cp Cargo.lock "$work/memory/"
  # The rest of the sandbox uses what is said not to be used here.
  printf '#![deny(warnings)]\n#![allow(dead_code, unused_imports)]\nmod pages;\n' >"$work/memory/src/lib.rs"
  ln -sfn "$pages" "$work/memory/src/pages"
  ln -sfn "$pages.rs" "$work/memory/src/pages.rs"
}

check_memory() {
  local upper=${1^^} runner
  runner=CARGO_TARGET_${upper//-/_}_RUNNER
  cargo check --manifest-path "$work/memory/Cargo.toml" --tests --target "$1" || return 1
  [ -z "${!runner-}" ] || cargo test --manifest-path "$work/memory/Cargo.toml" --lib --target "$1" || return 1
}

[ -z "$memory" ] || write_memory
for target; do
  since=$SECONDS log=$work/$target.log
  if ! rustup target add "$target" >"$log" 2>&1; then
    say "$target" "skipped: rustup: $(grep -m 1 '^error' "$log")"
    continue
  fi
  if [ -n "$memory" ]; then check_memory "$target" >"$log" 2>&1; else check_workspace "$target" >"$log" 2>&1; fi
  case $? in
  0)
    ran=$(sed -n 's/^test result: ok. \([0-9]* passed\).*/, tests: \1/p' "$log")
    warnings=$(grep -c '^warning: `sandglass.*generated' "$log")
    [ "$warnings" = 0 ] || ran+=", packages with warnings: $warnings"
    say "$target" "type-checks$ran ($((SECONDS - since)) s)" ;;
  2) say "$target" "skipped: $(tail -n 1 "$log")" ;;
  *)
    say "$target" "does not type-check, or a test fails; see target/platforms/$target.log:"
    grep -E -A 4 '^error|panicked' "$log" | head -n 40
    problems=1 ;;
  esac
done
exit $problems
