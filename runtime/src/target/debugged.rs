//! What a cargo-fuzz target makes of an input, as its `Debug` says.
//!
//! A target of libfuzzer-sys writes its input to the file that `RUST_LIBFUZZER_DEBUG_PATH` names, if it is set when
//! the target starts, and does nothing else: `{:#?}` of what `Arbitrary` made, for `cargo fuzz fmt`. Here it is set in a
//! run of its own, and the file is a virtual one.

use anyhow::Result;
use sandglass_instrument::accept::EntryKind;
use sandglass_sandbox::{Build, Limits, Options};

use super::Target;

const VARIABLE: &str = "RUST_LIBFUZZER_DEBUG_PATH";

/// The virtual file.
const FILE: &str = "/sandglass-debug";

impl Target {
    /// The text, if the target is one that has it and its input is more than the bytes. On a guest thread only.
    pub fn debugged(&self, limits: &Limits, input: &[u8]) -> Result<Option<String>> {
        let name = VARIABLE.as_bytes();
        let has_variable = self.module.wasm.windows(name.len()).any(|at| at == name);
        let is_reactor = self.module.facts.target() == Ok(EntryKind::Reactor);
        if !has_variable || !is_reactor {
            return Ok(None);
        }
        let mut env = self.options.env.clone();
        env.push((VARIABLE.to_owned(), FILE.to_owned()));
        let options = Options {
            env,
            sanitize_heap: false,
            allocator: Vec::new(),
            ..self.options.clone()
        };
        let target = Target::with_options(self.module.clone(), options, self.reset)?;
        let mut sandbox = target.sandbox(Build::Exact, limits)?;
        let mut text = None;
        sandbox.replay_and_look(input, &mut |left| {
            let bytes = left.file(FILE);
            text = bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        });
        Ok(text.filter(|text| text.trim() != format!("{input:?}")))
    }
}
