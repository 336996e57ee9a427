//! A folder of inputs and a bucket, made to have the same.
//!
//! An object is called by its content, the first half of its BLAKE3 hash in 32 hexadecimal digits, as files are in a
//! campaign's `corpus`. So what has arrived is known by its name, two that push at once do each other no harm, and
//! whatever a bucket holds can be checked. Objects of other names are nobody's inputs: neither fetched nor removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::path::{Path as Place, PathPart};
use object_store::{ObjectStore, ObjectStoreExt};
use url::Url;

/// Bytes of an input; larger files and objects are left out.
pub const INPUT_BYTES_MOST: u64 = 16 << 20;

/// What names of variables begin with that configure a bucket. The rest of the environment is not for it: a variable
/// `ENDPOINT` or `TIMEOUT` may be anybody's.
const CONFIGURES: [&str; 5] = [
    "AWS_",
    "GOOGLE_",
    "AZURE_",
    "IDENTITY_ENDPOINT",
    "MSI_ENDPOINT",
];
/// Transfers at once.
const WINDOW: usize = 16;

/// Why it did not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No address of a bucket that we know how to speak to.
    #[error(
        "{url}: {why}, expected s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER"
    )]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The bucket does not do what was asked.
    #[error("{0}")]
    Bucket(#[from] object_store::Error),
    /// A folder or a file.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
    /// A folder without inputs would empty the bucket.
    #[error("{}: no inputs, expected at least one before others are removed", .0.display())]
    Nothing(PathBuf),
}

/// A place in a bucket.
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    place: Place,
}

/// What came of fetching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Inputs that are in the folder now.
    pub new: u64,
    /// Inputs that were there.
    pub known: u64,
    /// Objects that are not what they are called, or too large.
    pub refused: u64,
    /// Objects with names of another kind.
    pub others: u64,
}

/// What came of pushing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Inputs that are in the bucket now.
    pub new: u64,
    /// Inputs that were there.
    pub known: u64,
    /// Files that are too large.
    pub refused: u64,
    /// Inputs that were removed from the bucket.
    pub removed: u64,
}

impl Bucket {
    /// At an address; how to get in is what the environment says, as with the tools of whoever runs the bucket
    /// (`AWS_ACCESS_KEY_ID`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME` and so on).
    pub fn open(url: &str) -> Result<Bucket, Error> {
        let wrong = |why: String| Error::Address {
            url: url.to_owned(),
            why,
        };
        let address = Url::parse(url).map_err(|e| wrong(e.to_string()))?;
        if !["s3", "gs", "az", "file"].contains(&address.scheme()) {
            return Err(wrong("expected s3://, gs://, az:// or file://".into()));
        }
        let set = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| CONFIGURES.iter().any(|of| name.starts_with(of)));
        let opened = object_store::parse_url_opts(&address, set);
        let (store, place) = opened.map_err(|e| wrong(e.to_string()))?;
        Ok(Bucket {
            store: store.into(),
            place,
        })
    }

    /// One that there is.
    pub fn of(store: Arc<dyn ObjectStore>, place: Place) -> Bucket {
        Bucket { store, place }
    }

    /// Names and sizes of inputs there, and how many objects are something else.
    async fn list(&self) -> Result<(BTreeMap<String, u64>, u64), Error> {
        let mut objects = self.store.list(Some(&self.place));
        let (mut inputs, mut others) = (BTreeMap::new(), 0);
        while let Some(object) = objects.try_next().await? {
            let parts: Option<Vec<PathPart<'_>>> = object
                .location
                .prefix_match(&self.place)
                .map(Iterator::collect);
            match parts.as_deref() {
                Some([name]) if is_name(name.as_ref()) => {
                    inputs.insert(name.as_ref().to_owned(), object.size);
                }
                _ => others += 1,
            }
        }
        Ok((inputs, others))
    }

    fn at(&self, name: &str) -> Place {
        self.place.clone().join(name)
    }
}

/// Fetches what a folder lacks, which is made if it is missing.
pub async fn pull(bucket: &Bucket, folder: &Path) -> Result<Pulled, Error> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let (there, others) = bucket.list().await?;
    let mut pulled = Pulled {
        others,
        ..Pulled::default()
    };
    let mut wanted = Vec::new();
    for (name, bytes) in there {
        match () {
            () if folder.join(&name).exists() => pulled.known += 1,
            () if bytes > INPUT_BYTES_MOST => pulled.refused += 1,
            () => wanted.push(name),
        }
    }
    let mut fetched = stream::iter(wanted)
        .map(|name| async move {
            let object = bucket.store.get(&bucket.at(&name)).await?;
            // Somebody may have put another one there.
            if object.meta.size > INPUT_BYTES_MOST {
                return Ok((name, None));
            }
            let bytes = object.bytes().await?;
            let is_it = self::name(&bytes) == name;
            Ok::<_, Error>((name, is_it.then_some(bytes)))
        })
        .buffer_unordered(WINDOW);
    while let Some((name, bytes)) = fetched.try_next().await? {
        match bytes {
            Some(bytes) => {
                write(folder, &name, &bytes)?;
                pulled.new += 1;
            }
            None => pulled.refused += 1,
        }
    }
    Ok(pulled)
}

/// Pushes what the bucket lacks. With `removes`, inputs that the folder does not have are removed there once all of
/// its own have arrived.
pub async fn push(folder: &Path, bucket: &Bucket, removes: bool) -> Result<Pushed, Error> {
    let (there, _) = bucket.list().await?;
    let mut pushed = Pushed::default();
    let mut ours: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in files(folder)? {
        match read(&path)? {
            Some(bytes) => drop(ours.insert(name(&bytes), path)),
            None => pushed.refused += 1,
        }
    }
    if removes && ours.is_empty() {
        return Err(Error::Nothing(folder.to_owned()));
    }
    let missing = ours.iter().filter(|(name, _)| !there.contains_key(*name));
    let missing: Vec<(&String, &PathBuf)> = missing.collect();
    pushed.known = (ours.len() - missing.len()) as u64;
    let mut sent = stream::iter(missing)
        .map(|(name, path)| async move {
            // Read again, not kept: a corpus need not fit into memory.
            let bytes = fs::read(path).map_err(|error| failed(path, error))?;
            bucket.store.put(&bucket.at(name), bytes.into()).await?;
            Ok::<_, Error>(())
        })
        .buffer_unordered(WINDOW);
    while let Some(()) = sent.try_next().await? {
        pushed.new += 1;
    }
    if removes {
        let names: BTreeSet<&String> = ours.keys().collect();
        let over = there.keys().filter(|name| !names.contains(name));
        let mut removed = stream::iter(over)
            .map(|name| async move {
                match bucket.store.delete(&bucket.at(name)).await {
                    // Somebody else was quicker.
                    Err(object_store::Error::NotFound { .. }) => Ok(()),
                    other => other.map_err(Error::from),
                }
            })
            .buffer_unordered(WINDOW);
        while let Some(()) = removed.try_next().await? {
            pushed.removed += 1;
        }
    }
    Ok(pushed)
}

/// What an input is called.
fn name(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..32].to_owned()
}

fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Plain files of a folder, but those that begin with a dot.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let entry = entry.map_err(|error| failed(folder, error))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && !entry.file_name().as_encoded_bytes().starts_with(b".") {
            files.push(entry.path());
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// A file's bytes; nothing if there are too many.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let meta = fs::metadata(path).map_err(|error| failed(path, error))?;
    if meta.len() > INPUT_BYTES_MOST {
        return Ok(None);
    }
    fs::read(path)
        .map(Some)
        .map_err(|error| failed(path, error))
}

/// A file that is there whole or not at all.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let (passing, path) = (folder.join(format!(".{name}")), folder.join(name));
    let written = fs::write(&passing, bytes).and_then(|()| fs::rename(&passing, &path));
    written.map_err(|error| failed(&path, error))
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::File {
        path: path.to_owned(),
        error,
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(future)
    }

    fn bucket() -> Bucket {
        Bucket::of(Arc::new(InMemory::new()), Place::from("corpora/parse"))
    }

    fn put(bucket: &Bucket, name: &str, bytes: &'static [u8]) {
        run(bucket.store.put(&bucket.at(name), bytes.into())).unwrap();
    }

    fn folder(inputs: &[&[u8]]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (number, input) in inputs.iter().enumerate() {
            fs::write(folder.path().join(number.to_string()), input).unwrap();
        }
        folder
    }

    fn names(bucket: &Bucket) -> Vec<String> {
        run(bucket.list()).unwrap().0.into_keys().collect()
    }

    fn named(inputs: &[&[u8]]) -> Vec<String> {
        let mut names: Vec<String> = inputs.iter().map(|input| name(input)).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_was_pushed_is_pulled_and_only_once() {
        let bucket = bucket();
        let inputs: [&[u8]; 3] = [b"a", b"", b"bc"];
        let from = folder(&inputs);
        // The same input twice, a note of somebody, and a folder.
        fs::write(from.path().join("again"), b"a").unwrap();
        fs::write(from.path().join(".note"), b"n").unwrap();
        fs::create_dir(from.path().join("deeper")).unwrap();
        let first = run(push(from.path(), &bucket, false)).unwrap();
        assert_eq!((first.new, first.known), (3, 0));
        let again = run(push(from.path(), &bucket, false)).unwrap();
        assert_eq!((again.new, again.known), (0, 3));
        assert_eq!(names(&bucket), named(&inputs));

        let to = tempfile::tempdir().unwrap();
        let place = to.path().join("made");
        let first = run(pull(&bucket, &place)).unwrap();
        assert_eq!((first.new, first.known), (3, 0));
        assert_eq!(fs::read(place.join(name(b"bc"))).unwrap(), b"bc");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 3);
        let again = run(pull(&bucket, &place)).unwrap();
        assert_eq!((again.new, again.known), (0, 3));
    }

    #[test]
    fn what_is_not_what_it_is_called_stays_there() {
        let bucket = bucket();
        put(&bucket, &name(b"one"), b"another");
        put(&bucket, "../up", b"x");
        put(&bucket, &name(b"one").to_uppercase(), b"one");
        put(&bucket, &format!("deeper/{}", name(b"two")), b"two");
        put(&bucket, &name(b"fine"), b"fine");
        let large = vec![0; INPUT_BYTES_MOST as usize + 1];
        let place = bucket.at(&name(&large));
        run(bucket.store.put(&place, large.into())).unwrap();
        let to = tempfile::tempdir().unwrap();
        let pulled = run(pull(&bucket, to.path())).unwrap();
        let expected = Pulled {
            new: 1,
            known: 0,
            refused: 2,
            others: 3,
        };
        assert_eq!(pulled, expected);
        let files = fs::read_dir(to.path()).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(files, [&name(b"fine")[..]]);
    }

    #[test]
    fn what_is_left_of_a_corpus_takes_the_place_of_the_rest() {
        let bucket = bucket();
        let all: [&[u8]; 3] = [b"a", b"b", b"c"];
        run(push(folder(&all).path(), &bucket, false)).unwrap();
        put(&bucket, "README", b"not an input");
        let least: [&[u8]; 2] = [b"b", b"d"];
        let pushed = run(push(folder(&least).path(), &bucket, true)).unwrap();
        let expected = Pushed {
            new: 1,
            known: 1,
            refused: 0,
            removed: 2,
        };
        assert_eq!(pushed, expected);
        assert_eq!(names(&bucket), named(&least));
        assert_eq!(
            run(bucket.list()).unwrap().1,
            1,
            "what is nobody's input stays"
        );
        // Nothing would be left: somebody has mistaken the folder.
        let empty = run(push(folder(&[]).path(), &bucket, true));
        assert!(matches!(empty, Err(Error::Nothing(_))), "{empty:?}");
        assert_eq!(names(&bucket), named(&least));
    }
}
