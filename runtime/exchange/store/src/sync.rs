//! A folder of inputs and a bucket, made to have the same.
//!
//! An object is called by its content, the first half of its BLAKE3 hash in 32 hexadecimal digits, as files are in a
//! campaign's `corpus`. So what has arrived is known by its name, two that push at once do each other no harm, and
//! whatever a bucket holds can be checked. Objects of other names are nobody's inputs: neither fetched nor removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
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
    /// The bucket failed at an object, and may do so at all others.
    #[error("{name}: {error}")]
    Object {
        /// Which.
        name: String,
        /// What the bucket says.
        error: object_store::Error,
    },
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

/// What was left where it is, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// An object's name, or a file's path.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// What came of fetching.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pulled {
    /// Inputs that are in the folder now.
    pub new: u64,
    /// Inputs that were there.
    pub known: u64,
    /// Objects that are not what they are called, too large, or cannot be read; by name.
    pub refused: Vec<Refused>,
    /// Objects with names of another kind.
    pub others: u64,
}

/// What came of pushing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Inputs that are in the bucket now.
    pub new: u64,
    /// Inputs that were there.
    pub known: u64,
    /// Inputs that took the place of objects that are not what they are called.
    pub replaced: u64,
    /// Files that are too large, or changed meanwhile; by path.
    pub refused: Vec<Refused>,
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

/// What is changed by pushing, beyond what is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushOptions {
    /// What the folder does not have is removed from the bucket.
    pub removes: bool,
    /// What is known there is fetched and compared; without it only sizes are, which are in its list.
    pub checks: bool,
}

/// Fetches what a folder lacks, which is made if it is missing. Objects that are not what they are called are left
/// there, whoever put them.
///
/// # Errors
/// When the folder cannot be written, or the bucket fails.
pub async fn pull(bucket: &Bucket, folder: &Path) -> Result<Pulled, Error> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let (there, others) = bucket.list().await?;
    let mut pulled = Pulled {
        others,
        ..Pulled::default()
    };
    let mut wanted = Vec::new();
    for name in there.into_keys() {
        match folder.join(&name).exists() {
            true => pulled.known += 1,
            false => wanted.push(name),
        }
    }
    let mut fetched = stream::iter(wanted)
        .map(|name| async move { bucket.fetch(&name).await.map(|fetched| (name, fetched)) })
        .buffer_unordered(WINDOW);
    while let Some((name, fetched)) = fetched.try_next().await? {
        match fetched {
            Fetched::Input(bytes) => {
                write(folder, &name, &bytes)?;
                pulled.new += 1;
            }
            Fetched::Bad(why) => pulled.refused.push(Refused { name, why }),
            Fetched::Gone => {}
        }
    }
    pulled.refused.sort_unstable();
    Ok(pulled)
}

/// Pushes what the bucket lacks, and what takes the place of bad objects there. Inputs that the folder does not have
/// are removed, if that is wanted, once all of its own have arrived.
///
/// # Errors
/// When the folder cannot be read, the bucket fails, or all would be removed.
pub async fn push(folder: &Path, bucket: &Bucket, options: PushOptions) -> Result<Pushed, Error> {
    let (there, _) = bucket.list().await?;
    let mut pushed = Pushed::default();
    let mut ours: BTreeMap<String, (PathBuf, u64)> = BTreeMap::new();
    for path in files(folder)? {
        match read(&path).map_err(|error| failed(&path, error))? {
            Some(bytes) => drop(ours.insert(name(&bytes), (path, bytes.len() as u64))),
            None => pushed.refuse(&path, &too_large()),
        }
    }
    if options.removes && ours.is_empty() {
        return Err(Error::Nothing(folder.to_owned()));
    }
    let is_there = |(name, bytes): (&String, u64)| there.get(name) == Some(&bytes);
    let of_size = |input: &(&String, &(PathBuf, u64))| is_there((input.0, input.1.1));
    let known = ours.iter().filter(of_size).map(|(name, _)| name);
    let known = match options.checks {
        true => bucket.good(known.collect()).await?,
        false => known.collect(),
    };
    pushed.known = known.len() as u64;
    let missing = ours.iter().filter(|(name, _)| !known.contains(name));
    let mut sent = stream::iter(missing)
        .map(|(name, (path, _))| async move {
            let is_sent = bucket.send(name, path).await?;
            Ok::<_, Error>((name, path, is_sent))
        })
        .buffer_unordered(WINDOW);
    let mut changed = Vec::new();
    while let Some((name, path, is_sent)) = sent.try_next().await? {
        match is_sent {
            true if there.contains_key(name) => pushed.replaced += 1,
            true => pushed.new += 1,
            false => changed.push(path),
        }
    }
    let all_arrived = changed.is_empty();
    for path in changed {
        pushed.refuse(path, "it changed while it was pushed");
    }
    pushed.refused.sort_unstable();
    if options.removes && all_arrived {
        let over = there.keys().filter(|name| !ours.contains_key(*name));
        pushed.removed = bucket.remove(over).await?;
    }
    Ok(pushed)
}

impl Pushed {
    fn refuse(&mut self, path: &Path, why: &str) {
        self.refused.push(Refused {
            name: path.display().to_string(),
            why: why.to_owned(),
        });
    }
}

/// What became of an object.
#[derive(Debug)]
enum Fetched {
    /// It is what it is called.
    Input(Vec<u8>),
    /// It is something else, or nobody can read it; why.
    Bad(String),
    /// Somebody has removed it.
    Gone,
}

impl Bucket {
    /// An input, if it is what it is called. Errs if the bucket fails in a way that is not this object's.
    async fn fetch(&self, name: &str) -> Result<Fetched, Error> {
        match self.bytes(name).await {
            Ok(Some(bytes)) if self::name(&bytes) == name => Ok(Fetched::Input(bytes)),
            Ok(Some(_)) => Ok(Fetched::Bad(
                "its content has another hash, expected the one that it is called by".into(),
            )),
            Ok(None) => Ok(Fetched::Bad(too_large())),
            Err(object_store::Error::NotFound { .. }) => Ok(Fetched::Gone),
            Err(object_store::Error::PermissionDenied { .. }) => {
                Ok(Fetched::Bad("it may not be read".into()))
            }
            Err(error) => Err(Error::Object {
                name: name.to_owned(),
                error,
            }),
        }
    }

    /// An object's bytes; nothing if there are too many, whatever the bucket says of its size.
    async fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, object_store::Error> {
        let object = self.store.get(&self.at(name)).await?;
        if object.meta.size > INPUT_BYTES_MOST {
            return Ok(None);
        }
        let (mut parts, mut bytes) = (object.into_stream(), Vec::new());
        while let Some(part) = parts.try_next().await? {
            bytes.extend_from_slice(&part);
            if bytes.len() as u64 > INPUT_BYTES_MOST {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    }

    /// Those of the inputs there that are what they are called.
    async fn good<'a>(&self, names: Vec<&'a String>) -> Result<BTreeSet<&'a String>, Error> {
        let mut good = BTreeSet::new();
        let mut fetched = stream::iter(names)
            .map(|name| async move { self.fetch(name).await.map(|fetched| (name, fetched)) })
            .buffer_unordered(WINDOW);
        while let Some((name, fetched)) = fetched.try_next().await? {
            if let Fetched::Input(_) = fetched {
                good.insert(name);
            }
        }
        Ok(good)
    }

    /// Puts a file there under its name, if it still is what it is called. It is read again, not kept: a corpus need
    /// not fit into memory.
    async fn send(&self, name: &str, path: &Path) -> Result<bool, Error> {
        let bytes = match read(path) {
            Ok(bytes) => bytes.filter(|bytes| self::name(bytes) == name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(path, error)),
        };
        let Some(bytes) = bytes else {
            return Ok(false);
        };
        let put = self.store.put(&self.at(name), bytes.into()).await;
        put.map(|_| true).map_err(|error| Error::Object {
            name: name.to_owned(),
            error,
        })
    }

    /// Removes inputs; how many were there.
    async fn remove(&self, names: impl Iterator<Item = &String>) -> Result<u64, Error> {
        let mut removed = stream::iter(names)
            .map(|name| async move {
                match self.store.delete(&self.at(name)).await {
                    Ok(()) => Ok(1),
                    // Somebody else was quicker.
                    Err(object_store::Error::NotFound { .. }) => Ok(0),
                    Err(error) => Err(Error::from(error)),
                }
            })
            .buffer_unordered(WINDOW);
        let mut count = 0;
        while let Some(one) = removed.try_next().await? {
            count += one;
        }
        Ok(count)
    }
}

fn too_large() -> String {
    format!("it is too large, expected at most {INPUT_BYTES_MOST} bytes")
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
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut file = File::open(path)?.take(INPUT_BYTES_MOST + 1);
    file.read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= INPUT_BYTES_MOST).then_some(bytes))
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

    const PLAIN: PushOptions = PushOptions {
        removes: false,
        checks: false,
    };
    const REMOVES: PushOptions = PushOptions {
        removes: true,
        ..PLAIN
    };
    const CHECKS: PushOptions = PushOptions {
        checks: true,
        ..PLAIN
    };

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
        let first = run(push(from.path(), &bucket, PLAIN)).unwrap();
        assert_eq!((first.new, first.known), (3, 0));
        let again = run(push(from.path(), &bucket, PLAIN)).unwrap();
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
        assert_eq!((pulled.new, pulled.known, pulled.others), (1, 0, 3));
        let refused = |(name, why): (String, &str)| Refused {
            name,
            why: why.into(),
        };
        let mut expected = [
            (
                name(b"one"),
                "its content has another hash, expected the one that it is called by",
            ),
            (
                name(&vec![0; INPUT_BYTES_MOST as usize + 1]),
                "it is too large, expected at most 16777216 bytes",
            ),
        ]
        .map(refused);
        expected.sort_unstable();
        assert_eq!(pulled.refused, expected);
        let files = fs::read_dir(to.path()).unwrap();
        let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(files, [&name(b"fine")[..]]);
    }

    /// Sizes are in the list and cost nothing; the rest has to be fetched.
    #[test]
    fn what_is_bad_there_is_replaced() {
        let bucket = bucket();
        put(&bucket, &name(b"one"), b"another");
        put(&bucket, &name(b"two"), b"owt");
        put(&bucket, &name(b"fine"), b"fine");
        let from = folder(&[b"one", b"two", b"fine"]);
        let counts = |pushed: &Pushed| (pushed.new, pushed.known, pushed.replaced);
        let pushed = run(push(from.path(), &bucket, PLAIN)).unwrap();
        assert_eq!(counts(&pushed), (0, 2, 1));
        let pushed = run(push(from.path(), &bucket, CHECKS)).unwrap();
        assert_eq!(counts(&pushed), (0, 2, 1));
        let pushed = run(push(from.path(), &bucket, CHECKS)).unwrap();
        assert_eq!(counts(&pushed), (0, 3, 0));
        let to = tempfile::tempdir().unwrap();
        let pulled = run(pull(&bucket, to.path())).unwrap();
        assert_eq!((pulled.new, pulled.refused), (3, Vec::new()));
    }

    #[test]
    fn what_changed_since_it_was_named_is_not_sent() {
        let bucket = bucket();
        let from = folder(&[b"other"]);
        let path = from.path().join("0");
        assert!(!run(bucket.send(&name(b"input"), &path)).unwrap());
        assert!(!run(bucket.send(&name(b"input"), &from.path().join("gone"))).unwrap());
        assert_eq!(names(&bucket), Vec::<String>::new());
        assert!(run(bucket.send(&name(b"other"), &path)).unwrap());
        assert_eq!(names(&bucket), named(&[b"other"]));
    }

    #[test]
    fn a_file_that_is_too_large_is_named_and_left_out() {
        let bucket = bucket();
        let large = vec![0; INPUT_BYTES_MOST as usize + 1];
        let from = folder(&[b"a", &large, &large[1..]]);
        let pushed = run(push(from.path(), &bucket, PLAIN)).unwrap();
        let expected = Refused {
            name: from.path().join("1").display().to_string(),
            why: "it is too large, expected at most 16777216 bytes".into(),
        };
        assert_eq!((pushed.new, pushed.refused), (2, vec![expected]));
    }

    #[test]
    fn what_is_left_of_a_corpus_takes_the_place_of_the_rest() {
        let bucket = bucket();
        let all: [&[u8]; 3] = [b"a", b"b", b"c"];
        run(push(folder(&all).path(), &bucket, PLAIN)).unwrap();
        put(&bucket, "README", b"not an input");
        let least: [&[u8]; 2] = [b"b", b"d"];
        let pushed = run(push(folder(&least).path(), &bucket, REMOVES)).unwrap();
        let expected = Pushed {
            new: 1,
            known: 1,
            removed: 2,
            ..Pushed::default()
        };
        assert_eq!(pushed, expected);
        assert_eq!(names(&bucket), named(&least));
        assert_eq!(
            run(bucket.list()).unwrap().1,
            1,
            "what is nobody's input stays"
        );
        // Nothing would be left: somebody has mistaken the folder.
        let empty = run(push(folder(&[]).path(), &bucket, REMOVES));
        assert!(matches!(empty, Err(Error::Nothing(_))), "{empty:?}");
        assert_eq!(names(&bucket), named(&least));
    }
}
