#!/usr/bin/env bash
# Rebuilds the small checked-in guests: planted faults, demos, bench programs, programs with known worst cases, cases of data flow, dataflow programs, generators,
# memory errors, and undefined behaviour.
#
#   guests/build-small.sh [planted|demo|bench|cost|dependence|dataflow|generators|heap|undefined|all]   writes the .wasm files beside the sources
#   OUT=DIR guests/build-small.sh all                  writes them to DIR instead
#
# Needs: rustup's wasm32-unknown-unknown, and Zig 0.17 (`zig` or `python3 -m ziglang`, from `pip install ziglang==0.17.0`).
# Source paths are mapped, so that the modules do not depend on where this repository lies.
set -euo pipefail
cd "$(dirname "$0")"
root=$(pwd)
repository=$(dirname "$root")
what=${1:-all}

zig=()
find_zig() {
  local venv=$root/../target/guest-tools/venv/bin/python
  if [ -x "$venv" ]; then zig=("$venv" -m ziglang)
  elif python3 -c 'import ziglang' 2>/dev/null; then zig=(python3 -m ziglang)
  elif command -v zig >/dev/null; then zig=(zig)
  else
    echo "guests/build-small.sh: no Zig found: pip install ziglang==0.17.0" >&2
    exit 2
  fi
}

# c OUT SOURCE [FLAG…]: one freestanding C file.
c() {
  local out=$1 source=$2; shift 2
  mkdir -p "$(dirname "$out")"
  "${zig[@]}" cc -target wasm32-freestanding -nostdlib -O2 -fno-builtin -fno-sanitize=all \
    -ffile-prefix-map="$root"=guests -fdebug-compilation-dir=. \
    -Wl,--no-entry -Wl,-z,stack-size=16384 -Wl,--export-memory "$@" "$source" -o "$out"
}

# rust OUT SOURCE [FLAG…]: one no_std Rust file.
rust() {
  local out=$1 source=$2; shift 2
  mkdir -p "$(dirname "$out")"
  rustc --edition 2024 --crate-type cdylib --target wasm32-unknown-unknown -C opt-level=2 -C panic=abort \
    -C link-arg=-zstack-size=16384 -C link-arg=--no-entry --remap-path-prefix "$root"=guests \
    --remap-path-prefix "$(rustc --print sysroot)"=rust --crate-name "$(basename "$source" .rs | tr - _)" \
    "$@" "$source" -o "$out"
}

# rust_bare OUT SOURCE [FLAG…]: the same without core, whose debug information would be 600 KB: what the file calls of
# core's machinery for panics becomes functions that trap.
rust_bare() {
  local out=$1 object=$1.o source=$2 host; shift 2
  host=$(rustc -vV | sed -n 's/^host: //p')
  rust "$object" "$source" --emit=obj -C codegen-units=1 "$@"
  "$(rustc --print sysroot)/lib/rustlib/$host/bin/rust-lld" -flavor wasm --no-entry --gc-sections -z stack-size=4194304 \
    --unresolved-symbols=ignore-all --export=LLVMFuzzerTestOneInput "$object" -o "$out" 2>/dev/null
  rm "$object"
}

planted() {
  local to=${OUT:-$root}/planted/wasm source name
  for source in planted/src/*-*.c planted/src/keywords.c; do
    name=$(basename "$source" .c)
    c "$to/$name.wasm" "$root/$source" -gline-tables-only
  done
  for source in planted/src/*.rs; do
    name=$(basename "$source" .rs)
    [ "$name" = planted ] || rust "$to/$name.wasm" "$root/$source" -C debuginfo=line-tables-only
  done
}

# The demos exist optimised (what is fuzzed) and not (for tests of stacks and lines).
demo() {
  local to=${OUT:-$root}/demo/wasm level
  for level in 0 2; do
    c "$to/settings-O$level.wasm" "$root/demo/settings.c" -g -O$level -Wl,-z,stack-size=4194304
  done
  rust "$to/packets-O2.wasm" "$root/demo/packets.rs" -C debuginfo=2 -C lto=fat -C link-arg=-zstack-size=4194304
  rust_bare "$to/packets-O0.wasm" "$root/demo/packets.rs" -C debuginfo=2 -C opt-level=0
}

bench() {
  local to=${OUT:-$root}/bench/wasm source
  for source in bench/*.c; do
    c "$to/$(basename "$source" .c).wasm" "$root/$source" -gline-tables-only -Wl,-z,stack-size=65536
  done
}

dependence() {
  local to=${OUT:-$root}/dependence/wasm level
  for level in 0 2; do
    c "$to/micro-O$level.wasm" "$root/dependence/micro.c" -gline-tables-only -O$level -mbulk-memory
  done
}

cost() {
  local to=${OUT:-$root}/cost/wasm source
  for source in cost/*.c; do
    c "$to/$(basename "$source" .c).wasm" "$root/$source" -gline-tables-only -Wl,-z,stack-size=65536
  done
}

# library TARGET FOLDER NAME SOURCE [FLAG…]: a library that modules are linked with, without lines. By rustc alone, because
# cargo's hashes, which are in symbols, depend on the flags for paths.
library() {
  local target=$1 folder=$2 name=$3 source=$4; shift 4
  rustc --edition 2024 --crate-type rlib --target "$target" -C opt-level=2 -C panic=abort -C codegen-units=1 \
    --remap-path-prefix "$repository/sdk"=sdk --remap-path-prefix "$root"=guests --crate-name "$name" -L "$folder" "$@" "$source" \
    -o "$folder/lib$name.rlib"
}

# sdk TARGET FOLDER
sdk() {
  library "$1" "$2" sandglass_abi "$repository/sdk/abi/src/lib.rs"
  library "$1" "$2" sandglass_sdk "$repository/sdk/src/lib.rs" --cfg 'feature="alloc"' --extern sandglass_abi
}

# The generators use std, whose own debug information would be most of a module: names stay, lines go.
generators() {
  local to=${OUT:-$root}/generators/wasm work source
  work=$(mktemp -d)
  sdk wasm32-unknown-unknown "$work"
  library wasm32-unknown-unknown "$work" sandglass_generators "$root/generators/src/lib.rs" --extern sandglass_sdk
  for source in generators/modules/*.rs; do
    rust "$to/$(basename "$source" .rs).wasm" "$root/$source" -C codegen-units=1 -C strip=debuginfo -C lto=fat -L "$work" \
      --extern sandglass_sdk --extern sandglass_generators -C link-arg=-zstack-size=1048576
  done
  rm -r "$work"
}

# Dataflow programs say why they panic, so they have WASI; and they have the lines of their own source and of what is inlined into
# it. So what they are linked with is stripped first: the libraries of Rust as one object each, the C library, which has
# constructors that are not wanted, file by file.
dataflow() {
  local to=${OUT:-$root}/dataflow/wasm work sysroot lld object source
  work=$(mktemp -d)
  sysroot=$(rustc --print sysroot)
  lld="$sysroot/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld -flavor wasm"
  mkdir -p "$to" "$work/c" "$work/plain"
  # It has two files of the name errno.c.obj, of which `ar x` keeps the last.
  (
    cd "$work/c"
    library=$sysroot/lib/rustlib/wasm32-wasip1/lib/self-contained/libc.a
    ar xN 1 "$library" errno.c.obj
    mv errno.c.obj errno.c.1.obj
    ar x "$library"
  )
  for object in "$work"/c/*; do
    $lld -r -S "$object" -o "$work/plain/$(basename "$object")"
  done
  cat >"$work/link" <<EOF
#!/usr/bin/env bash
set -euo pipefail
arguments=()
for argument in "\$@"; do
  case \$argument in
  -flavor | wasm | -l) ;;
  c) arguments+=(--start-lib "$work"/plain/* --end-lib) ;;
  "$sysroot"/*.rlib)
    object=$work/\$(basename "\$argument").o
    [ -e "\$object" ] || $lld -r -S --whole-archive "\$argument" -o "\$object"
    arguments+=("\$object")
    ;;
  *) arguments+=("\$argument") ;;
  esac
done
exec $lld "\${arguments[@]}"
EOF
  chmod +x "$work/link"
  sdk wasm32-wasip1 "$work"
  module() { # the module's name, its source, further arguments
    rustc --edition 2024 --crate-type cdylib --target wasm32-wasip1 -C opt-level=2 -C panic=abort -C codegen-units=1 \
      -C debuginfo=line-tables-only -C linker="$work/link" -C linker-flavor=wasm-ld -L "$work" --extern sandglass_sdk \
      --remap-path-prefix "$root"=guests --remap-path-prefix "$sysroot"=rust --crate-name "$(basename "$2" .rs)" \
      "${@:3}" "$root/$2" -o "$to/$1.wasm"
  }
  for source in dataflow/*.rs; do
    module "$(basename "$source" .rs)" "$source"
  done
  for source in dataflow/queries/q*.rs; do
    module "$(basename "$source" .rs)" "$source"
    module "$(basename "$source" .rs)-mutants" "$source" --cfg mutants -C debuginfo=0 -C strip=symbols
  done
  for source in dataflow/c/*.c; do
    c "$to/c-$(basename "$source" .c).wasm" "$root/$source" -gline-tables-only -Wl,-z,stack-size=65536
  done
  chmod 644 "$to"/*.wasm
  rm -r "$work"
}

# Memory errors need a real allocator. Zig's C library has lines if what is linked to it has, and they would be nearly all of
# a module; so it is linked twice: once without any, to learn how, and once like that with ours.
heap() {
  local to=${OUT:-$root}/heap/wasm work library level
  work=$(mktemp -d)
  library=$(realpath "$("${zig[@]}" env | sed -n 's/^ *\.lib_dir = "\(.*\)",/\1/p')")
  mkdir -p "$to"
  twins() { # twins LANGUAGE LEVEL: links twins.o
    local line
    line=$(ZIG_VERBOSE_LINK=1 "${zig[@]}" c++ -target wasm32-wasi -mexec-model=reactor -O2 -s \
      -Wl,--export=LLVMFuzzerTestOneInput -Wl,--export=malloc -Wl,--export=free -Wl,-z,stack-size=65536 \
      "$work/twins.o" -o "$to/twins-$1-O$2.wasm" 2>&1 | grep '^wasm-ld ' | tail -1)
    # shellcheck disable=SC2086 # a command line, to be split
    "${zig[@]}" ${line/ -s / }
  }
  for level in 0 2; do
    local language modes=(Debug - ReleaseFast)
    for language in c cc; do
      local driver=cc flags=()
      [ $language = c ] || { driver=c++ flags=(-fno-exceptions); }
      "${zig[@]}" $driver -target wasm32-wasi -O$level -g -fno-sanitize=all ${flags[@]+"${flags[@]}"} \
        -ffile-prefix-map="$root"=guests -ffile-prefix-map="$library"=zig -fdebug-compilation-dir=. \
        -c "$root/heap/src/twins.$language" -o "$work/twins.o"
      twins $language $level
    done
    # Zig has no map for the paths in its lines, so names stay and lines go. For Rust too: those of its own libraries would be 1.5 MB.
    (cd "$work" && "${zig[@]}" build-obj "$root/heap/src/twins.zig" -target wasm32-wasi -lc -O "${modes[level]}" -fstrip -femit-bin=twins.o)
    twins zig $level
    rust "$to/twins-rs-O$level.wasm" "$root/heap/src/twins.rs" -C opt-level=$level -C strip=debuginfo \
      -C debug-assertions=off -C link-arg=-zstack-size=1048576
  done
  chmod 644 "$to"/*.wasm
  rm -r "$work"
}

# With the flags and the handlers of `sandglass build --sanitize undefined`. Checks name the file as the command line does.
undefined() {
  local to=${OUT:-$root}/undefined/wasm work library level
  work=$(mktemp -d)
  library=$(realpath "$("${zig[@]}" env | sed -n 's/^ *\.lib_dir = "\(.*\)",/\1/p')")
  mkdir -p "$to"
  "${zig[@]}" cc -target wasm32-wasi -O2 -g0 -fno-sanitize=all -fno-builtin -c "$root/../sdk/c/undefined.c" -o "$work/undefined.o"
  for level in 0 2; do
    (cd undefined/src && "${zig[@]}" c++ -target wasm32-wasi -O$level -g -fno-exceptions -fno-rtti -fno-stack-protector \
      -fsanitize=undefined -fno-sanitize=function,vptr -fno-sanitize-recover=all -Wno-return-type \
      -ffile-prefix-map="$root"=guests -ffile-prefix-map="$library"=zig -fdebug-compilation-dir=. -c checks.cc -o "$work/checks.o")
    "${zig[@]}" cc -target wasm32-freestanding -nostdlib -O2 -Wl,--no-entry -Wl,-z,stack-size=65536 -Wl,--export-memory \
      -Wl,--export=LLVMFuzzerTestOneInput "$work/checks.o" "$work/undefined.o" -o "$to/checks-O$level.wasm"
  done
  chmod 644 "$to"/*.wasm
  rm -r "$work"
}

[ "$what" = generators ] || find_zig
case $what in
planted | demo | bench | cost | dependence | dataflow | generators | heap | undefined) "$what" ;;
all) planted; demo; bench; cost; dependence; dataflow; generators; heap; undefined ;;
*)
  echo "guests/build-small.sh: unknown part '$what', expected planted, demo, bench, cost, dependence, dataflow, generators, heap, undefined or all" >&2
  exit 2
  ;;
esac
