//! Headers that harnesses include and compilers for wasm do not bring: LLVM's `fuzzer/FuzzedDataProvider.h`, and the
//! SDK's own for those that draw.
//!
//! The former is the file of `sdk/c/include`, whose README says where it is from.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::error::io;

/// What debug information calls the folder: the same in every build, and told from the user's own.
const SHOWN_AS: &str = "/usr/include/sandglass";

const HEADERS: &[(&str, &str)] = &[
    (
        "fuzzer/FuzzedDataProvider.h",
        include_str!("../../../sdk/c/include/fuzzer/FuzzedDataProvider.h"),
    ),
    ("sandglass.h", include_str!("../../../sdk/c/sandglass.h")),
    (
        "sandglass_flow.h",
        include_str!("../../../sdk/c/sandglass_flow.h"),
    ),
];

/// Writes the headers below a folder; returns flags with which a compiler finds them, after what the user's `-I` name.
pub(super) fn flags(work: &Path) -> Result<Vec<String>> {
    let include = work.join("include");
    let folder = include.join("fuzzer");
    fs::create_dir_all(&folder).map_err(|e| io(&folder, "create", &e))?;
    for (name, text) in HEADERS {
        let path = include.join(name);
        fs::write(&path, text).map_err(|e| io(&path, "write", &e))?;
    }
    let include = include.display();
    Ok(vec![
        format!("-isystem{include}"),
        format!("-ffile-prefix-map={include}={SHOWN_AS}"),
    ])
}
