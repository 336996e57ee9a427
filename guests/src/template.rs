//! The templates of `guests/templates`: a small library with a planted fault and its harness, in each language.

/// One template.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Its files: path below the folder, and text.
    pub files: &'static [(&'static str, &'static str)],
    /// The commands that build it, there.
    pub build: &'static [&'static str],
    /// What it is built to.
    pub module: &'static str,
}

/// Files of one template, by their names.
macro_rules! files {
    ($folder:literal: $($path:literal),+) => {
        &[$(($path, include_str!(concat!("../templates/", $folder, "/", $path)))),+]
    };
}

/// All templates.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "rust",
        what: "a crate with a cargo-fuzz folder",
        files: files!("rust": ".gitignore", "Cargo.toml", "src/lib.rs", "fuzz/Cargo.toml", "fuzz/fuzz_targets/mean.rs", "fuzz/corpus/mean/three"),
        build: &["sandglass build"],
        module: "mean.wasm",
    },
    Template {
        name: "rust-with-c",
        what: "a crate whose build script compiles C, with a cargo-fuzz folder",
        files: files!("rust-with-c": ".gitignore", "Cargo.toml", "build.rs", "src/lib.rs", "src/mean.c", "src/mean.h", "fuzz/Cargo.toml", "fuzz/fuzz_targets/mean_c.rs"),
        build: &["sandglass build"],
        module: "mean_c.wasm",
    },
    Template {
        name: "c",
        what: "a library in C with a libFuzzer harness",
        files: files!("c": ".gitignore", "mean.c", "mean.h", "harness.c"),
        build: &["sandglass build harness.c mean.c"],
        module: "harness.wasm",
    },
    Template {
        name: "cpp",
        what: "a library in C++ with a libFuzzer harness",
        files: files!("cpp": ".gitignore", "mean.cc", "mean.h", "harness.cc"),
        build: &["sandglass build harness.cc mean.cc"],
        module: "harness.wasm",
    },
    Template {
        name: "cmake",
        what: "a library in C that CMake builds, with a libFuzzer harness",
        files: files!("cmake": ".gitignore", "CMakeLists.txt", "sandglass.cmake", "mean.c", "mean.h", "harness.c"),
        build: &[
            "cmake -B build -G Ninja --toolchain sandglass.cmake",
            "cmake --build build",
            "sandglass build harness.c build/libmean.a",
        ],
        module: "harness.wasm",
    },
    Template {
        name: "zig",
        what: "a library in Zig",
        files: files!("zig": ".gitignore", "mean.zig", "harness.zig"),
        build: &["sandglass build harness.zig"],
        module: "harness.wasm",
    },
    Template {
        name: "assemblyscript",
        what: "a library in AssemblyScript",
        files: files!("assemblyscript": ".gitignore", "mean.ts", "harness.ts"),
        build: &["sandglass build harness.ts"],
        module: "harness.wasm",
    },
    Template {
        name: "go",
        what: "a library in Go",
        files: files!("go": ".gitignore", "go.mod", "mean.go", "harness.go"),
        build: &["sandglass build harness.go mean.go"],
        module: "harness.wasm",
    },
];
