#!/usr/bin/env bash
# Builds real libraries as guests, from package registries, with the harnesses in guests/subjects.
#
#   guests/build-subjects.sh [NAME…|all|list]        target/subjects/NAME.wasm (-O2 -g, 1 MiB of stack)
#   KIT=native SAN=none|address guests/build-subjects.sh NAME…
#                                                    target/subjects-native/NAME[-asan], libFuzzer by clang
#   DRIVER=FILE.c KIT=native …                       target/subjects-timed/NAME[-asan], with that `main` and libFuzzer's
#                                                    counters only
#
# Sources: crates.io (`cargo vendor`), Debian source packages (`apt-get source`, with lists of our own: the system is
# not changed; upstream's files, without Debian's patches), PyPI (`ziglang`, the compiler) and rustup's
# wasm32-unknown-unknown and wasm32-wasip1. A step that is done is skipped; a subject whose sources cannot be had is skipped with a word
# why, and makes the exit code 1. Everything lies below target/, in guest-tools/, subjects/ and subjects-native/.
set -euo pipefail
cd "$(dirname "$0")"
here=$(pwd)
target=$here/../target
mkdir -p "$target/guest-tools"
target=$(cd "$target" && pwd)
tools=$target/guest-tools
kit=${KIT:-wasm}
san=${SAN:-none}
all=(empty json-small bzip2 cjson expat expat-old libpng libxml2 libxml2-old libxml2-xsd lua lua-load lua-load-checked lua-load-old mujs onig
  pcre2 pugixml quickjs quickjs-compile quickjs-compile-checked quickjs-compile-old sqlite sqlite-db sqlite-steps
  sqlite-steps-checked sqlite-steps-old stb-image stb-image-old tinyxml2 zlib zlib-header zlib-header-old
  libcxx-email libcxx-java libcxx-trim onig-email onig-java onig-trim pcre2-email pcre2-java pcre2-trim word-count-djb word-count-java rust-boa rust-boa-old rust-json rust-lambda-csv-load rust-lambda-history rust-lambda-image-year
  rust-lambda-lookup rust-lambda-resize rust-lambda-survey rust-lambda-unzip rust-magic rust-naga rust-naga-old rust-png
  rust-regex rust-toml rust-wasm rust-wasm-old rust-xml zig-json)
problems=0

say() { printf 'build-subjects: %s\n' "$*"; }
skip() { say "$1: skipped: $2"; }
fail() { say "$1: not built: $2"; problems=1; }

case $kit in
wasm) out_folder=$target/subjects suffix=.wasm ;;
native)
  out_folder=$target/subjects-native
  [ -z "${DRIVER-}" ] || out_folder=$target/subjects-timed
  case $san in
  none) suffix= ;;
  address) suffix=-asan ;;
  *) say "SAN=$san: expected none or address" >&2; exit 2 ;;
  esac ;;
*) say "KIT=$kit: expected wasm or native" >&2; exit 2 ;;
esac

# ---- tools and sources ----

zig=()
need_zig() {
  [ ${#zig[@]} -eq 0 ] || return 0
  if [ -x "$tools/venv/bin/python" ] && "$tools/venv/bin/python" -c 'import ziglang' 2>/dev/null; then :
  elif python3 -c 'import ziglang' 2>/dev/null; then zig=(python3 -m ziglang); return 0
  else
    say "installing ziglang into target/guest-tools/venv"
    python3 -m venv "$tools/venv" && "$tools/venv/bin/pip" install -q ziglang==0.17.0 || return 1
  fi
  zig=("$tools/venv/bin/python" -m ziglang)
}

# crate NAME [SUBJECT]: the folder of a vendored crate, in `source`; its old version for a subject called -old.
crate() {
  local set=
  case ${2-} in *-old) set=-old ;; esac
  local work=$tools/crates$set manifest=subjects/sources$set.toml
  if ! [ -d "$work/vendor/$1" ] || ! cmp -s "$manifest" "$work/Cargo.toml"; then
    mkdir -p "$work"
    cp "$manifest" "$work/Cargo.toml"
    : > "$work/lib.rs"
    (cd "$work" && cargo vendor -q vendor > /dev/null) || return 1
  fi
  source=$work/vendor/$1
}

# debian NAME: the folder of an unpacked upstream archive, in `source`.
debian() {
  local apt=$tools/apt archive
  source=$tools/debian/$1
  [ -e "$source/.done" ] && return 0
  command -v apt-get > /dev/null || return 1
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/files" "$source"
  local options=(-qq -o "Dir::Etc::sourceparts=-" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
    -o APT::Sandbox::User=root)
  if ! [ -e "$apt/.updated" ]; then
    # The system's own binary entries, as source entries; of third parties nothing is wanted.
    rm -f "$apt"/*.list "$apt"/*.sources
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2> /dev/null | grep -E '^deb .*(debian|ubuntu)' \
      | sed 's/^deb /deb-src /' > "$apt/own.list" || true
    awk 'BEGIN { RS = ""; ORS = "\n\n" } /URIs:[^\n]*(debian|ubuntu)/ && /main/ { gsub(/Types:[^\n]*/, "Types: deb-src"); print }' \
      /etc/apt/sources.list.d/*.sources 2> /dev/null > "$apt/own.sources" || true
    mkdir -p "$apt/parts"
    [ -s "$apt/own.list" ] && cp "$apt/own.list" "$apt/parts/"
    [ -s "$apt/own.sources" ] && cp "$apt/own.sources" "$apt/parts/"
    apt-get "${options[@]}" -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" update || return 1
    touch "$apt/.updated"
  fi
  # The patches' download may fail while upstream's archive arrives, which is all that is needed.
  (cd "$apt/files" && apt-get "${options[@]}" -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" \
    source --download-only "$1" 2> /dev/null) || true
  archive=$(ls "$apt/files/$1"_*.orig.tar.* 2> /dev/null | grep -v '\.asc$' | head -1)
  [ -n "$archive" ] && tar xf "$archive" -C "$source" --strip-components=1 || return 1
  touch "$source/.done"
}

# npm NAME VERSION SHA256: the folder of an unpacked package of npm, in `source`.
npm() {
  local archive=$tools/npm/$1-$2.tgz
  source=$tools/npm/$1-$2
  [ -e "$source/.done" ] && return 0
  mkdir -p "$source"
  (cd "$tools/npm" && command npm pack --silent "$1@$2" > /dev/null) || return 1
  echo "$3  $archive" | sha256sum --check --quiet || return 1
  tar xf "$archive" -C "$source" --strip-components=1 || return 1
  touch "$source/.done"
}

# ---- compiling ----

# done_already NAME: the output exists and is newer than the harness.
done_already() {
  local out=$out_folder/$1$suffix
  [ -e "$out" ] && [ -z "$(find "subjects/$1" subjects/harness.h -type f ! -path '*/seeds/*' ! -path '*/known/*' -newer "$out")" ]
}

# compile NAME [FLAG…] -- SOURCE…: a C or C++ subject. eh=1 for setjmp. Subjects of one `library` have its flags to the
# letter, so that Zig's cache has all of it but the harness after the first.
compile() {
  local name=$1 flags=() out work start=$SECONDS driver=cc harness; shift
  while [ "$1" != -- ]; do flags+=("$1"); shift; done
  shift
  out=$out_folder/$name$suffix
  work=$tools/build/${library:-$name}
  mkdir -p "$out_folder" "$work"
  harness=$here/subjects/$name/harness.c
  [ -e "$harness" ] || { harness=$here/subjects/$name/harness.cc; driver=c++; }
  local common=(-O2 -g -w -fdebug-compilation-dir=. "-I$here/subjects" "-I$here/../sdk/c" "-I$work" "-ffile-prefix-map=$target=target" "-ffile-prefix-map=$here=guests")
  [ $driver = cc ] || common+=(-std=c++17 -fno-exceptions)
  if [ "$kit" = wasm ]; then
    need_zig || { fail "$name" "no Zig: pip install ziglang==0.17.0"; return; }
    local eh_flags=()
    if [ "${eh:-0}" = 1 ]; then
      printf '.globl __c_longjmp\n.tagtype __c_longjmp i32\n__c_longjmp:\n' > "$work/tag.s"
      eh_flags=(-mllvm -wasm-enable-sjlj -mexception-handling -mllvm -wasm-use-legacy-eh=false "$work/tag.s")
    fi
    "${zig[@]}" $driver -target wasm32-wasi -mexec-model=reactor -DSANDGLASS=1 "${common[@]}" "${flags[@]}" \
      -Wl,-z,stack-size=1048576 -Wl,--export=malloc -Wl,--export=free \
      "$@" "$harness" "${eh_flags[@]}" -o "$work/out.wasm" || { fail "$name" "the compiler failed"; return; }
    mv "$work/out.wasm" "$out"
  else
    local clang=${CLANG:-clang} sanitizers=(-fsanitize=fuzzer) link=(-lm) flag kept=()
    [ $driver = cc ] || clang=${clang/clang/clang++}
    [ -z "${DRIVER-}" ] || sanitizers=(-fsanitize-coverage=inline-8bit-counters "$DRIVER")
    [ "$san" = none ] || sanitizers+=("-fsanitize=$san")
    for flag in "${flags[@]}"; do
      case $flag in -lwasi-* | -D_WASI_*) ;; *) kept+=("$flag") ;; esac
    done
    "$clang" "${sanitizers[@]}" "${common[@]}" "${kept[@]}" "$@" "$harness" "${link[@]}" -o "$out" \
      || { fail "$name" "the compiler failed"; return; }
  fi
  say "$name: $(stat -c %s "$out") bytes, $((SECONDS - start)) s"
}

# checks NAME FLAG…: for a subject called -old or -checked, the flags that turn its checks on, in `checks`. Assertions are
# among them, and traps where a null pointer or a place outside of an array would be used, which wasm allows.
checks() {
  local name=$1; shift
  case $name in
  *-old | *-checked) checks=(-UNDEBUG -fsanitize=null,bounds -fsanitize-trap=null,bounds "$@") ;;
  *) checks=() ;;
  esac
}

# embed NAME FILE: a file of subjects/ as a string literal, for this subject, in a header of the file's name.
embed() {
  mkdir -p "$tools/build/$1"
  sed -e 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$/\\n"/' "subjects/$2" > "$tools/build/$1/${2##*/}.h"
}

# in_folder FOLDER NAME…: the C files of these names, in `files`.
in_folder() {
  local folder=$1 name; shift
  files=()
  for name in "$@"; do files+=("$folder/$name.c"); done
}

# ---- the subjects ----

build_empty() { compile empty --; }
build_json_small() { compile json-small --; }

build_cjson() {
  debian cjson || { fail cjson "no source package"; return; }
  compile cjson "-I$source" -- "$source/cJSON.c"
}

# expat NAME: a subject on the Expat in `source`.
expat() {
  local lib=$source/expat/lib
  mkdir -p "$tools/build/$1"
  cat > "$tools/build/$1/expat_config.h" <<'CONFIG'
#define BYTEORDER 1234
#define HAVE_MEMMOVE 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_UNISTD_H 1
#define XML_CONTEXT_BYTES 1024
#define XML_DTD 1
#define XML_NS 1
#define XML_POOR_ENTROPY 1
CONFIG
  in_folder "$lib" xmlparse xmlrole xmltok
  compile "$1" "-I$lib" -DHAVE_EXPAT_CONFIG_H -DXML_STATIC -D_WASI_EMULATED_GETPID -lwasi-emulated-getpid -- "${files[@]}"
}

build_expat() {
  debian expat || { fail expat "no source package"; return; }
  expat expat
}

build_expat_old() {
  crate expat-sys expat-old || { fail expat-old "crate not available"; return; }
  expat expat-old
}

# zlib NAME: a subject on the part of the zlib in `source` that inflates.
zlib() {
  in_folder "$source" adler32 crc32 inffast inflate inftrees zutil
  compile "$1" "-I$source" -DNO_GZIP_FILES -- "${files[@]}"
}

build_bzip2() {
  debian bzip2 || { fail bzip2 "no source package"; return; }
  in_folder "$source" blocksort huffman crctable randtable compress decompress bzlib
  compile bzip2 "-I$source" -DBZ_NO_STDIO -- "${files[@]}"
}

build_zlib() {
  debian zlib || { fail zlib "no source package"; return; }
  zlib zlib
}

build_zlib_header() {
  debian zlib || { fail zlib-header "no source package"; return; }
  zlib zlib-header
}

build_zlib_header_old() {
  crate libz-sys zlib-header-old || { fail zlib-header-old "crate not available"; return; }
  source=$source/src/zlib
  zlib zlib-header-old
}

build_libpng() {
  debian zlib || { fail libpng "no source package of zlib"; return; }
  local z=$source
  debian libpng1.6 || { fail libpng "no source package"; return; }
  mkdir -p "$tools/build/libpng"
  cp "$source/scripts/pnglibconf.h.prebuilt" "$tools/build/libpng/pnglibconf.h"
  in_folder "$z" adler32 crc32 inffast inflate inftrees zutil deflate trees
  local zfiles=("${files[@]}")
  in_folder "$source" png pngerror pngget pngmem pngpread pngread pngrio pngrtran pngrutil pngset pngtrans
  eh=1 compile libpng "-I$source" "-I$z" -DNO_GZIP_FILES -DPNG_NO_WRITE_SUPPORTED -DPNG_ARM_NEON_OPT=0 \
    -DPNG_INTEL_SSE_OPT=0 -- "${zfiles[@]}" "${files[@]}"
}

# libxml2 NAME FEATURE…: configures libxml2 with these features for a subject; leaves its C files in `files`.
libxml2() {
  local work=$tools/build/$1 feature; shift
  mkdir -p "$work/libxml"
  local edits=(-e 's/@VERSION@/2.9/' -e 's/@LIBXML_VERSION_NUMBER@/20900/' -e 's/@LIBXML_VERSION_EXTRA@//'
    -e 's/@MODULE_EXTENSION@/.so/')
  for feature in "$@"; do edits+=(-e "s/@WITH_$feature@/1/"); done
  sed "${edits[@]}" -e 's/@WITH_[A-Z0-9_]*@/0/' "$source/include/libxml/xmlversion.h.in" > "$work/libxml/xmlversion.h"
  libxml2_files "$work"
}

# libxml2_files FOLDER: puts libxml2's configuration there; leaves its C files in `files`.
libxml2_files() {
  local feature
  for feature in ARPA_INET_H CTYPE_H ERRNO_H FCNTL_H FLOAT_H LIMITS_H MATH_H STDARG_H STDLIB_H STRING_H SYS_STAT_H \
    SYS_TYPES_H TIME_H UNISTD_H STAT STRFTIME LOCALTIME TIME VSNPRINTF SNPRINTF VA_COPY ISINF ISNAN STDINT_H INTTYPES_H; do
    echo "#define HAVE_$feature 1"
  done > "$1/config.h"
  in_folder "$source" SAX SAX2 HTMLparser HTMLtree buf chvalid dict encoding entities error globals hash list parser \
    parserInternals pattern threads tree uri valid xmlIO xmlmemory xmlregexp xmlsave xmlstring xmlunicode xpath xlink
}

libxml2_flags=(-D_WASI_EMULATED_PROCESS_CLOCKS -lwasi-emulated-process-clocks)

build_libxml2() {
  debian libxml2 || { fail libxml2 "no source package"; return; }
  libxml2 libxml2 TREE OUTPUT PUSH PATTERN SAX1 VALID HTML XPATH ISO8859X REGEXPS
  compile libxml2 "-I$source/include" "-I$source" "${libxml2_flags[@]}" -- "${files[@]}"
}

build_libxml2_old() {
  npm libxmljs 0.18.0 555012cd537e36522677f945da1d625f1d71a81543d6116764ecd1acc026cde6 \
    || { fail libxml2-old "package not available"; return; }
  source=$source/vendor/libxml
  # A configuration of npm's, which would be found before ours; and a callback without the parameters of its type, which
  # wasm does not call.
  rm -f "$source/config.h"
  sed -i 's/xmlNop(void)/xmlNop(void *context, char *buffer, int length)/' "$source/xmlIO.c" "$source/libxml.h"
  local work=$tools/build/libxml2-old
  mkdir -p "$work/libxml"
  # A feature's comment says its name, and the next line that begins with `#if` whether it is on.
  awk -v on=" TREE OUTPUT PUSH PATTERN SAX1 VALID HTML XPATH ISO8859X REGEXP UNICODE AUTOMATA " '
    match($0, /\* LIBXML_[A-Z0-9]+_ENABLED:/) { feature = substr($2, 8, length($2) - 16) }
    /^#if [01]$/ && feature { $0 = "#if " (index(on, " " feature " ") > 0); feature = "" }
    { print }' "$source/include/libxml/xmlversion.h" > "$work/libxml/xmlversion.h"
  libxml2_files "$work"
  compile libxml2-old "-I$source/include" "-I$source" "${libxml2_flags[@]}" -- "${files[@]}"
}

build_libxml2_xsd() {
  debian libxml2 || { fail libxml2-xsd "no source package"; return; }
  embed libxml2-xsd libxml2-xsd/project.xsd
  libxml2 libxml2-xsd TREE OUTPUT PUSH PATTERN SAX1 VALID XPATH ISO8859X REGEXPS SCHEMAS
  compile libxml2-xsd "-I$source/include" "-I$source" "${libxml2_flags[@]}" -- "${files[@]}" "$source/xmlschemas.c" \
    "$source/xmlschemastypes.c"
}

# lua NAME FILE…: a subject on these files of Lua.
lua() {
  local name=$1 lua; shift
  crate lua-src "$name" || { fail "$name" "crate not available"; return; }
  case $name in
  *-old) lua=$source/lua-5.4.0 ;;
  *) lua=$source/lua-5.4.8 ;;
  esac
  in_folder "$lua" "$@"
  checks "$name" -include assert.h -Dlua_assert=assert -DLUA_USE_APICHECK
  eh=1 compile "$name" "-I$lua" -D_WASI_EMULATED_SIGNAL -lwasi-emulated-signal '-Dluai_makeseed(L)=1' "${checks[@]}" -- "${files[@]}"
}

lua_core=(lapi lcode lctype ldebug ldo ldump lfunc lgc llex lmem lobject lopcodes lparser lstate lstring ltable ltm lundump
  lvm lzio lauxlib)

build_lua() { lua lua "${lua_core[@]}" lbaselib lcorolib lmathlib lstrlib ltablib lutf8lib; }
build_lua_load() { lua lua-load "${lua_core[@]}"; }
build_lua_load_checked() { lua lua-load-checked "${lua_core[@]}"; }
build_lua_load_old() { lua lua-load-old "${lua_core[@]}"; }

build_mujs() {
  debian mujs || { fail mujs "no source package"; return; }
  eh=1 compile mujs "-I$source" -D_WASI_EMULATED_PROCESS_CLOCKS -lwasi-emulated-process-clocks -- "$source/one.c"
}

onig() {
  crate onig_sys || { fail "$1" "crate not available"; return; }
  local library=onig onig=$source/oniguruma/src work=$tools/build/onig
  mkdir -p "$work"
  printf '#define %s\n' 'STDC_HEADERS 1' 'HAVE_STRING_H 1' 'HAVE_STDLIB_H 1' 'HAVE_STDINT_H 1' 'HAVE_INTTYPES_H 1' \
    'HAVE_LIMITS_H 1' 'SIZEOF_INT 4' 'SIZEOF_LONG __SIZEOF_LONG__' 'SIZEOF_LONG_LONG 8' 'SIZEOF_VOIDP __SIZEOF_POINTER__' \
    'PACKAGE "onig"' 'PACKAGE_VERSION "0"' 'VERSION "0"' > "$work/config.h"
  in_folder "$onig" regparse regcomp regexec regenc regerror regext regsyntax regtrav regversion st onig_init unicode \
    ascii utf8 unicode_fold1_key unicode_fold2_key unicode_fold3_key unicode_unfold_key
  compile "$1" "-I$onig" -DHAVE_CONFIG_H -- "${files[@]}"
}

build_onig() { onig onig; }
build_onig_email() { onig onig-email; }
build_onig_java() { onig onig-java; }
build_onig_trim() { onig onig-trim; }

# libcxx NAME: with the bound of what a match may cost lifted, in a copy of the header; the C++ library of a native compiler is
# another one.
libcxx() {
  local library=libcxx lib
  if [ "$kit" = wasm ]; then
    need_zig || { fail "$1" "no Zig: pip install ziglang==0.17.0"; return; }
    lib=$("${zig[@]}" env | sed -n 's/^ *\.lib_dir = "\(.*\)",/\1/p')
    mkdir -p "$tools/build/libcxx"
    sed 's/\(_LIBCPP_REGEX_COMPLEXITY_FACTOR\) 4096/\1 0x7fffffff/' "$lib/libcxx/include/regex" > "$tools/build/libcxx/regex"
  fi
  compile "$1" --
}

build_libcxx_email() { libcxx libcxx-email; }
build_libcxx_java() { libcxx libcxx-java; }
build_libcxx_trim() { libcxx libcxx-trim; }
build_word_count_djb() { compile word-count-djb --; }
build_word_count_java() { compile word-count-java --; }

pcre2() {
  crate pcre2-sys || { fail "$1" "crate not available"; return; }
  local file library=pcre2
  files=()
  for file in "$source"/upstream/src/*.c; do
    case $file in *jit_match.c | *jit_misc.c | *ucptables.c | *jit_test.c | *fuzzsupport.c | *pcre2test.c | *pcre2grep.c | *pcre2demo.c | *dftables.c) ;; *) files+=("$file") ;; esac
  done
  compile "$1" "-I$source/upstream/src" "-I$source/upstream/include" "-I$source/include" -DPCRE2_CODE_UNIT_WIDTH=8 \
    -DHAVE_CONFIG_H=1 -DPCRE2_STATIC=1 -DSUPPORT_PCRE2_8=1 -DSUPPORT_UNICODE=1 -DSTDC_HEADERS=1 -DHAVE_STDLIB_H=1 -DHAVE_MEMMOVE=1 -- "${files[@]}"
}

build_pcre2() { pcre2 pcre2; }
build_pcre2_email() { pcre2 pcre2-email; }
build_pcre2_java() { pcre2 pcre2-java; }
build_pcre2_trim() { pcre2 pcre2-trim; }

build_pugixml() {
  debian pugixml || { fail pugixml "no source package"; return; }
  compile pugixml "-I$source/src" -DPUGIXML_NO_EXCEPTIONS -- "$source/src/pugixml.cpp"
}

quickjs() {
  crate rquickjs-sys || { fail "$1" "crate not available"; return; }
  in_folder "$source/quickjs" quickjs libregexp libunicode dtoa
  checks "$1"
  compile "$1" "-I$source/quickjs" -D_GNU_SOURCE -DQUICKJS_NG_BUILD -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_SIGNAL \
    -lwasi-emulated-process-clocks -lwasi-emulated-signal "${checks[@]}" -- "${files[@]}"
}

build_quickjs() { quickjs quickjs; }
build_quickjs_compile() { quickjs quickjs-compile; }
build_quickjs_compile_checked() { quickjs quickjs-compile-checked; }
build_quickjs_compile_old() {
  crate libquickjs-sys quickjs-compile-old || { fail quickjs-compile-old "crate not available"; return; }
  local quickjs=$source/embed/quickjs
  in_folder "$quickjs" quickjs libregexp libunicode cutils
  checks quickjs-compile-old
  # EMSCRIPTEN is what that version calls wasm: no threads, no size of an allocation. Wasm knows one way of rounding.
  [ "$kit" = native ] || checks+=(-DFE_DOWNWARD=FE_TONEAREST -DFE_UPWARD=FE_TONEAREST)
  compile quickjs-compile-old "-I$quickjs" -D_GNU_SOURCE -DEMSCRIPTEN "-DCONFIG_VERSION=\"$(cat "$quickjs/VERSION")\"" \
    "${checks[@]}" -- "${files[@]}"
}

sqlite_flags=(-DSQLITE_OS_OTHER=1 -DSQLITE_THREADSAFE=0 -DSQLITE_TEMP_STORE=3 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_WAL
  -DSQLITE_MAX_MMAP_SIZE=0 -DSQLITE_OMIT_RANDOMNESS -DSQLITE_OMIT_LOCALTIME)

sqlite() {
  crate libsqlite3-sys "$1" || { fail "$1" "crate not available"; return; }
  checks "$1" -DSQLITE_DEBUG
  compile "$1" "-I$source/sqlite3" "${sqlite_flags[@]}" "${checks[@]}" -- "$source/sqlite3/sqlite3.c"
}

build_sqlite() { sqlite sqlite; }
build_sqlite_db() { sqlite sqlite-db; }
build_sqlite_steps() { sqlite_steps sqlite-steps; }
build_sqlite_steps_checked() { sqlite_steps sqlite-steps-checked; }
build_sqlite_steps_old() { sqlite_steps sqlite-steps-old; }

sqlite_steps() {
  embed "$1" sqlite-steps/schema.sql
  sqlite "$1"
}

build_stb_image() {
  debian libstb || { fail stb-image "no source package"; return; }
  compile stb-image "-I$source" --
}

build_stb_image_old() {
  crate stb_image stb-image-old || { fail stb-image-old "crate not available"; return; }
  mkdir -p "$tools/build/stb-image-old"
  cp "$source/src/stb_image.c" "$tools/build/stb-image-old/stb_image.h"
  compile stb-image-old --
}

build_tinyxml2() {
  debian tinyxml2 || { fail tinyxml2 "no source package"; return; }
  compile tinyxml2 "-I$source" -- "$source/tinyxml2.cpp"
}

build_zig_json() {
  [ "$kit" = wasm ] || { skip zig-json "no native kit"; return; }
  need_zig || { fail zig-json "no Zig: pip install ziglang==0.17.0"; return; }
  local work=$tools/build/zig-json start=$SECONDS
  mkdir -p "$work" "$out_folder"
  (cd "$work" && "${zig[@]}" build-exe "$here/subjects/zig-json/harness.zig" -target wasm32-freestanding -fno-entry -rdynamic \
    -O ReleaseSafe -fno-strip -femit-bin=out.wasm) || { fail zig-json "the compiler failed"; return; }
  mv "$work/out.wasm" "$out_folder/zig-json.wasm"
  say "zig-json: $(stat -c %s "$out_folder/zig-json.wasm") bytes, $((SECONDS - start)) s"
}

build_rust() {
  [ "$kit" = wasm ] || { skip "$1" "no native kit"; return; }
  local start=$SECONDS package=rust triple=wasm32-unknown-unknown
  case $1 in
  rust-boa*) package=boa triple=wasm32-wasip1 ;;
  rust-lambda-* | rust-magic) package=lambda ;;
  esac
  mkdir -p "$out_folder"
  rustc --print target-libdir --target "$triple" 2> /dev/null | xargs test -d || rustup target add "$triple" \
    || { fail "$1" "rustup target add $triple"; return; }
  RUSTFLAGS="-C link-arg=-zstack-size=1048576 --remap-path-prefix=$here=guests --remap-path-prefix=$(cd .. && pwd)/sdk=sdk --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$here/subjects/lambda/cloud=cargo/registry/src/cloud" \
    cargo build -q --release --locked --manifest-path "subjects/$package/Cargo.toml" --target "$triple" \
    --target-dir "$tools/$package" --example "$1" || { fail "$1" "cargo failed"; return; }
  cp "$tools/$package/$triple/release/examples/${1//-/_}.wasm" "$out_folder/$1.wasm" 2> /dev/null \
    || cp "$tools/$package/$triple/release/examples/$1.wasm" "$out_folder/$1.wasm"
  say "$1: $(stat -c %s "$out_folder/$1.wasm") bytes, $((SECONDS - start)) s"
}

# ---- the command ----

names=("$@")
[ ${#names[@]} -gt 0 ] || { say "say which: ${all[*]}, or all"; exit 2; }
[ "${names[0]}" = all ] && names=("${all[@]}")
[ "${names[0]}" = list ] && { printf '%s\n' "${all[@]}"; exit 0; }
for name in "${names[@]}"; do
  case " ${all[*]} " in
  *" $name "*) ;;
  *) say "unknown subject '$name', expected one of: ${all[*]}" >&2; exit 2 ;;
  esac
  if done_already "$name"; then skip "$name" "already built"; continue; fi
  case $name in
  rust-*) build_rust "$name" ;;
  *) "build_${name//-/_}" ;;
  esac
done
exit $problems
