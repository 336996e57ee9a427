#!/usr/bin/env bash
# Real crates as they are: every fuzz target of cargo-fuzz projects built and run without an edit.
#
#   benches/cargo-fuzz.sh --fetch      the crates of cargo-fuzz.tsv, each cloned at the revision it was released from
#   benches/cargo-fuzz.sh CRATE...     folders of crates that have a `fuzz/`, such as clones of their repositories
#   benches/cargo-fuzz.sh --debian     the crates of cargo-fuzz-debian.tsv, out of source packages that Debian has (1.5 GB)
#   benches/cargo-fuzz.sh --verify     compares those revisions with what crates.io has of each release (.cargo_vcs_info.json)
#
# cargo-fuzz.tsv has a line for each crate: name and version, repository, revision, fuzz folder. cargo-fuzz-debian.tsv: name,
# the upstream archive below Debian's pool/main, its SHA-256 as Debian has signed it, the crate's folder in it.
# A Markdown row for each target: seconds to build it (the first of a crate builds its dependencies, too), edges and
# executions a second of EXECS executions (50000 unless set) from the project's own corpus with seed 1, and findings.
# What does not build has the last line that cargo said. Needs target/release/sandglass, cargo and jq.
set -uo pipefail
[ $# -gt 0 ] || { sed -n '2,14s/^# \?//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
sandglass=$(cd "$(dirname "$0")/.." && pwd)/target/release/sandglass
execs=${EXECS:-50000}
work=$(mktemp -d)
# Not below this folder: a package without a workspace of its own would take ours for its own.
sources=${XDG_CACHE_HOME:-$HOME/.cache}/sandglass-cargo-fuzz
trap 'rm -rf "$work"' EXIT

# fetch FOLDER REPOSITORY REVISION: that revision and nothing else of its history; what is there already stays.
fetch() {
  [ "$(git -C "$1" rev-parse HEAD 2> /dev/null)" = "$3" ] && return
  git init --quiet "$1" && git -C "$1" fetch --quiet --depth 1 "$2" "$3" && git -C "$1" checkout --quiet --force "$3"
}

# What crates.io has of a crate: cargo fetches it, and its archive names the revision.
released_from() {
  local name=${1%-*} version=${1##*-} home=${CARGO_HOME:-$HOME/.cargo}
  mkdir -p "$work/$1/src" && : > "$work/$1/src/lib.rs"
  printf '[package]\nname = "p"\n[workspace]\n[dependencies]\n%s = "=%s"\n' "$name" "$version" > "$work/$1/Cargo.toml"
  cargo fetch --quiet --manifest-path "$work/$1/Cargo.toml" && jq -r .git.sha1 "$home"/registry/src/*/"$1"/.cargo_vcs_info.json
}

# unpack ARCHIVE SHA256 FOLDER: that folder's surroundings out of an archive of Debian's, into what `sources` names. All of a
# source tree is too much, and a crate may need its neighbours: so the folder's first four levels and what lies below.
unpack() {
  local file=$sources/${1##*/}
  [ -f "$file" ] || curl -fsSL -o "$file" "${DEBIAN:-http://deb.debian.org/debian}/pool/main/$1" || return
  echo "$2  $file" | sha256sum --check --quiet || return
  [ -d "$sources/$3" ] || tar -C "$sources" -xf "$file" "$(cut -d/ -f-4 <<< "$3")"
}

case $1 in
  --verify)
    wrong=0
    while IFS=$'\t' read -r crate _ revision _; do
      found=$(released_from "$crate")
      [ "$found" = "$revision" ] && echo "$crate: $revision" || { echo "$crate: is of ${found:-nobody knows}, not $revision"; wrong=1; }
    done < "$here/cargo-fuzz.tsv"
    exit $wrong ;;
  --fetch)
    clones=$sources/clones
    mkdir -p "$clones"
    set --
    while IFS=$'\t' read -r crate repository revision folder; do
      fetch "$clones/$crate" "$repository" "$revision" || { echo "$crate: $repository has no $revision, or cannot be reached" >&2; exit 2; }
      set -- "$@" "$(dirname "$clones/$crate/$folder")"
    done < "$here/cargo-fuzz.tsv" ;;
  --debian)
    mkdir -p "$sources"
    set --
    while IFS=$'\t' read -r crate archive sum folder; do
      unpack "$archive" "$sum" "$folder" || { echo "$crate: $archive cannot be had, or is another" >&2; exit 2; }
      set -- "$@" "$sources/$folder"
    done < "$here/cargo-fuzz-debian.tsv" ;;
esac

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
