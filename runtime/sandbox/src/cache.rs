//! Cache: compiled modules on disk, keyed by content and configuration.
//!
//! Compiled code is native code, so the folder must be private (mode 0700, ours) and each entry
//! carries a checksum keyed with a secret that lies in the folder. An entry that does not check
//! out is ignored and written anew. Nothing of this ever leaves the machine.
//!
//! One of the files that may use `unsafe`: wasmtime trusts what it deserialises. A safe version
//! compiles each time: seconds in place of a millisecond.
#![expect(
    unsafe_code,
    reason = "deserialises native code that this file has checked"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sandglass_instrument::{COST_VERSION, PASS_VERSION, ProbeMap};
use wasmtime::{Engine, Module};

use crate::compile::Build;
use crate::error::SandboxError;

const MAGIC: &[u8; 8] = b"sandgl\x00\x02";
/// Fixed widths decode fastest.
const CONFIG: bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Fixint,
> = bincode::config::standard().with_fixed_int_encoding();

const SECRET_BYTES: usize = 32;
const HEADER_BYTES: usize = 8 + 32 + 8;

/// A folder of compiled modules.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    secret: [u8; SECRET_BYTES],
}

/// The name of an entry: what was compiled, by which passes, for which engine.
pub(crate) fn key(wasm: &[u8], build: Build, engine: &Engine) -> String {
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
        make_private(folder).map_err(|e| refuse(format!("cannot be made: {e}")))?;
        check_private(folder).map_err(refuse)?;
        let path = folder.join("secret");
        let secret = match fs::read(&path) {
            Ok(bytes) if bytes.len() == SECRET_BYTES => bytes,
            _ => {
                let fresh = fresh_secret();
                write_atomically(&path, &fresh)
                    .map_err(|e| refuse(format!("cannot be written: {e}")))?;
                // Another process may have been quicker.
                fs::read(&path).map_err(|e| refuse(format!("cannot be read: {e}")))?
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
        let bytes = fs::read(self.folder.join(key)).ok()?;
        let body = self.checked(&bytes)?;
        let map_bytes = u64::from_le_bytes(body.get(..8)?.try_into().ok()?) as usize;
        let (map, code) = body.get(8..)?.split_at_checked(map_bytes)?;
        let (map, _) = bincode::serde::borrow_decode_from_slice(map, CONFIG).ok()?;
        // SAFETY: the bytes were written by `store` below in a folder that only this user can
        // write, and their keyed checksum holds.
        let module = unsafe { Module::deserialize(engine, code) }.ok()?;
        Some((module, map))
    }

    fn checked<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES - 8)?;
        let sum = blake3::keyed_hash(&self.secret, body);
        (header[..8] == *MAGIC && header[8..] == *sum.as_bytes()).then_some(body)
    }

    /// Stores what was compiled. A cache that cannot be written costs time, not correctness.
    pub(crate) fn store(&self, key: &str, module: &Module, map: &ProbeMap) {
        let Ok(code) = module.serialize() else { return };
        let Ok(map) = bincode::serde::encode_to_vec(map, CONFIG) else {
            return;
        };
        let mut body = Vec::with_capacity(8 + map.len() + code.len());
        body.extend((map.len() as u64).to_le_bytes());
        body.extend(map);
        body.extend(code);
        let sum = blake3::keyed_hash(&self.secret, &body);
        let whole = [MAGIC.as_slice(), sum.as_bytes(), &body].concat();
        // Losing the entry only means compiling again.
        drop(write_atomically(&self.folder.join(key), &whole));
    }
}

fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = fs::File::create(&temporary)?;
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
    let data = fs::symlink_metadata(folder).map_err(|e| e.to_string())?;
    if !data.is_dir() {
        return Err("is not a folder".into());
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
