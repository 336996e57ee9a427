//! Cache: compiled modules on disk, keyed by content and configuration.
//!
//! Compiled code is native code, so the folder must be private (mode 0700, ours) and each entry
//! carries checksums keyed with a secret that lies in the folder. An entry that does not check out
//! is ignored and written anew. Nothing of this ever leaves the machine.
//!
//! An entry is two files. `KEY.code` is what wasmtime wrote, and is mapped, not read: most of it is
//! never looked at. `KEY.map` holds the checksums of both and the probe map. Files are put in place
//! by renaming, so a mapped one never changes.
//!
//! One of the files that may use `unsafe`: wasmtime trusts what it deserialises. A safe version
//! compiles each time: seconds in place of a millisecond.
#![expect(
    unsafe_code,
    reason = "deserialises native code that this file has checked"
)]

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sandglass_instrument::{COST_VERSION, PASS_VERSION, ProbeMap, Probes};
use wasmtime::{Engine, Module};

use crate::compile::Build;
use crate::error::SandboxError;

const MAGIC: &[u8; 8] = b"sandgl\x00\x03";
/// Fixed widths decode fastest.
const CONFIG: bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Fixint,
> = bincode::config::standard().with_fixed_int_encoding();

const SECRET_BYTES: usize = 32;
const SUM_BYTES: usize = blake3::OUT_LEN;

/// A folder of compiled modules.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    secret: [u8; SECRET_BYTES],
}

/// The name of an entry: what was compiled, with which functions of its allocator, by which passes, in which unit of
/// fuel, for which engine.
pub(crate) fn key(
    wasm: &[u8],
    build: Build,
    probes: Probes,
    given: &[String],
    engine: &Engine,
) -> String {
    use std::hash::{Hash, Hasher};
    struct Hashing(blake3::Hasher);
    impl Hasher for Hashing {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut hashing = Hashing(blake3::Hasher::new());
    hashing.0.update(wasm);
    hashing.0.update(build.name().as_bytes());
    hashing.0.update(&[u8::from(probes.generator)]);
    hashing.0.update(probes.cost.name().as_bytes());
    for text in given {
        hashing.0.update(&(text.len() as u64).to_le_bytes());
        hashing.0.update(text.as_bytes());
    }
    hashing.0.update(&PASS_VERSION.to_le_bytes());
    hashing.0.update(&COST_VERSION.to_le_bytes());
    engine.precompile_compatibility_hash().hash(&mut hashing);
    hashing.0.finalize().to_hex().to_string()
}

impl Cache {
    /// Opens the folder, making it if need be.
    ///
    /// # Errors
    /// When it cannot be made, or somebody else could write to it.
    pub fn open(folder: &Path) -> Result<Cache, SandboxError> {
        let refuse = |what: String| {
            SandboxError::Cache(format!("cache folder {}: {what}", folder.display()))
        };
        if folder.exists() && !folder.is_dir() {
            return Err(refuse(
                "is not a folder, expected one, or nothing there yet".into(),
            ));
        }
        // The kind of an error is words alone.
        make_private(folder).map_err(|e| refuse(format!("cannot be made: {}", e.kind())))?;
        check_private(folder).map_err(refuse)?;
        let path = folder.join("secret");
        let secret = match fs::read(&path) {
            Ok(bytes) if bytes.len() == SECRET_BYTES => bytes,
            _ => {
                let fresh = fresh_secret();
                write_atomically(&path, &fresh)
                    .map_err(|e| refuse(format!("cannot be written: {}", e.kind())))?;
                // Another process may have been quicker.
                fs::read(&path).map_err(|e| refuse(format!("cannot be read: {}", e.kind())))?
            }
        };
        let secret = secret
            .try_into()
            .map_err(|_| refuse("its secret is damaged; remove the folder".into()))?;
        Ok(Cache {
            folder: folder.into(),
            secret,
        })
    }

    pub(crate) fn load(&self, key: &str, engine: &Engine) -> Option<(Module, ProbeMap)> {
        let bytes = fs::read(self.map_path(key)).ok()?;
        let (code_sum, map) = self.checked(&bytes)?;
        let mut code = File::open(self.code_path(key)).ok()?;
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update_reader(&mut code).ok()?;
        if hasher.finalize() != *code_sum {
            return None;
        }
        code.rewind().ok()?;
        let (map, _) = bincode::serde::borrow_decode_from_slice(map, CONFIG).ok()?;
        // SAFETY: the file was written by `store` below in a folder that only this user can write,
        // its keyed checksum holds, and `store` never writes to a file that is in place.
        let module = unsafe { Module::deserialize_open_file(engine, code) }.ok()?;
        Some((module, map))
    }

    /// The checksum of the code, and the encoded probe map, if these bytes are an entry of ours.
    fn checked<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8; SUM_BYTES], &'a [u8])> {
        let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
        let (sum, body) = rest.split_first_chunk::<SUM_BYTES>()?;
        let holds = magic == MAGIC && blake3::keyed_hash(&self.secret, body) == *sum;
        body.split_first_chunk().filter(|_| holds)
    }

    /// Stores what was compiled. A cache that cannot be written costs time, not correctness.
    pub(crate) fn store(&self, key: &str, module: &Module, map: &ProbeMap) {
        let Ok(code) = module.serialize() else { return };
        let Ok(map) = bincode::serde::encode_to_vec(map, CONFIG) else {
            return;
        };
        let code_sum = blake3::keyed_hash(&self.secret, &code);
        let body = [code_sum.as_bytes().as_slice(), &map].concat();
        let sum = blake3::keyed_hash(&self.secret, &body);
        let whole = [MAGIC.as_slice(), sum.as_bytes(), &body].concat();
        // Losing the entry only means compiling again.
        if write_atomically(&self.code_path(key), &code).is_ok() {
            drop(write_atomically(&self.map_path(key), &whole));
        }
    }

    fn code_path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.code"))
    }

    fn map_path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.map"))
    }
}

fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    // Nobody else writes to it, in this process either: what is in place may be mapped.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    temporary.push(format!(".{}.{nth}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    // Left by a process of the same number, long ago.
    drop(fs::remove_file(&temporary));
    let mut file = File::create_new(&temporary)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(&temporary, path)
}

fn fresh_secret() -> [u8; SECRET_BYTES] {
    use std::hash::{BuildHasher, RandomState};
    // The standard library's randomly keyed hasher is the system's randomness without a
    // dependency; the secret guards against accidents and other users' files, not against
    // somebody who can read the folder.
    let mut secret = [0; SECRET_BYTES];
    for (n, chunk) in secret.chunks_mut(8).enumerate() {
        chunk.copy_from_slice(&RandomState::new().hash_one(n).to_le_bytes());
    }
    secret
}

#[cfg(unix)]
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn check_private(folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let data = fs::symlink_metadata(folder).map_err(|e| e.kind().to_string())?;
    if !data.is_dir() {
        return Err("is a link, which may lead elsewhere later; expected a folder".into());
    }
    // SAFETY: a system call without arguments.
    let us = unsafe { libc::geteuid() };
    if data.uid() != us {
        return Err(format!(
            "belongs to user {}, expected {us}; choose another with SANDGLASS_CACHE",
            data.uid()
        ));
    }
    if data.mode() & 0o077 != 0 {
        let mode = data.mode() & 0o777;
        return Err(format!(
            "has mode {mode:o}, expected 700, for it holds native code; type `chmod 700 {}`",
            folder.display()
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandglass_instrument::instrument;

    /// Whoever can write there can have us run native code.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let open = folder.path().join("open");
        fs::create_dir(&open).expect("creates");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).expect("it is ours");
        let refused = Cache::open(&open).expect_err("refused").to_string();
        assert!(refused.contains("has mode 770, expected 700"), "{refused}");
        let link = folder.path().join("link");
        symlink(folder.path(), &link).expect("creates");
        let refused = Cache::open(&link).expect_err("refused").to_string();
        assert!(refused.contains("is a link"), "{refused}");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("writes");
        let refused = Cache::open(&file).expect_err("refused").to_string();
        assert!(refused.contains("is not a folder"), "{refused}");
    }

    #[test]
    fn an_entry_with_one_changed_byte_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(&folder.path().join("cache")).expect("private");
        let wasm = wat::parse_str(
            r#"(module (memory (export "memory") 1)
                 (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32) i32.const 0))"#,
        )
        .expect("assembles");
        let engine = Build::Fast.engine();
        let instrumented = instrument(&wasm, Build::Fast.probes()).expect("instruments");
        let module = Module::from_binary(engine, &instrumented.wasm).expect("compiles");
        cache.store("entry", &module, &instrumented.probe_map);
        let (_, map) = cache.load("entry", engine).expect("it was just stored");
        assert_eq!(map, instrumented.probe_map);
        for path in [cache.code_path("entry"), cache.map_path("entry")] {
            let good = fs::read(&path).expect("is there");
            for at in [0, good.len() / 2, good.len() - 1] {
                let mut bad = good.clone();
                bad[at] ^= 1;
                fs::write(&path, &bad).expect("writes");
                assert!(cache.load("entry", engine).is_none(), "byte {at}");
            }
            fs::write(&path, &good[..good.len() / 2]).expect("writes");
            assert!(cache.load("entry", engine).is_none(), "half of it");
            fs::write(&path, &good).expect("writes");
            assert!(cache.load("entry", engine).is_some());
        }
        let other = Cache {
            secret: [7; SECRET_BYTES],
            ..cache.clone()
        };
        assert!(other.load("entry", engine).is_none(), "another secret");
    }
}
