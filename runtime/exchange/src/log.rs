//! An append-only file of frames: one process appends, any number read while it does.
//!
//! What was appended before a process died is whole; what it was writing is not, and ends the file:
//! readers wait there, and the next owner cuts it off before it appends. Damage anywhere else costs
//! the frame that it hit, is counted by each reader that passes it, and stays where it is. Nothing is
//! forced to disk: a machine that loses its power may lose the end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::codec::RECORD_BYTES_MOST;
use crate::folder::require_file;
use crate::frame::{self, HEAD, Head};

/// Bytes that are read at once.
const BLOCK: u64 = 256 << 10;

/// A log as its owner has it: locked until it is dropped, or the process ends in whatever way.
pub(crate) struct Log {
    file: File,
    /// Bytes of all that was appended whole.
    size: u64,
    /// Something not whole may lie behind them.
    is_torn: bool,
}

impl Log {
    /// Opens a log, makes it if there is none, and cuts off what was not written whole.
    ///
    /// Errs with `WouldBlock` if somebody else owns it.
    pub(crate) fn open(path: &Path) -> io::Result<Log> {
        require_file(path)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path)?;
        file.try_lock()?;
        let size = end(&file)?;
        if size < file.metadata()?.len() {
            file.set_len(size)?;
        }
        Ok(Log {
            file,
            size,
            is_torn: false,
        })
    }

    /// Appends a frame. If that errs, the log is as before, or will be made so by the next append.
    pub(crate) fn append(&mut self, body: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.size)?;
            self.is_torn = false;
        }
        let frame = frame::seal(body);
        if let Err(error) = self.file.write_all(&frame) {
            self.is_torn = self.file.set_len(self.size).is_err();
            return Err(error);
        }
        self.size += frame.len() as u64;
        Ok(())
    }

    /// Bytes of all that was appended.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether somebody has removed or cut its file, so that not all that was appended is still there.
    pub(crate) fn is_lost(&self) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        #[cfg(unix)]
        let is_gone = std::os::unix::fs::MetadataExt::nlink(&metadata) == 0;
        #[cfg(not(unix))]
        let is_gone = false;
        Ok(is_gone || metadata.len() < self.size)
    }
}

/// Frames from a place of a log on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Bodies of whole frames, in order.
    pub(crate) bodies: Vec<Vec<u8>>,
    /// Where to read on.
    pub(crate) next: u64,
    /// Places that were no whole frame, between those that are.
    pub(crate) damaged: u64,
}

/// Reads whole frames from `from` on: at most `most`, and no more once they have `bytes_most` bytes.
///
/// `from` is 0 or where an earlier part ended; past the end, because somebody has cut the file, it is 0.
pub(crate) fn read(file: &File, from: u64, most: usize, bytes_most: usize) -> io::Result<Part> {
    let size = file.metadata()?.len();
    let mut part = Part {
        next: if from > size { 0 } else { from },
        damaged: u64::from(from > size),
        ..Part::default()
    };
    let mut bytes = 0;
    while part.bodies.len() < most && bytes < bytes_most {
        match next(file, part.next, size)? {
            Next::Whole(bodies, after) => {
                for (body, end) in bodies {
                    if part.bodies.len() == most || bytes >= bytes_most {
                        return Ok(part);
                    }
                    bytes += body.len();
                    part.bodies.push(body);
                    part.next = end;
                }
                part.next = part.next.max(after);
            }
            Next::Damage(after) => {
                part.damaged += 1;
                part.next = after;
            }
            Next::Nothing => break,
        }
    }
    Ok(part)
}

/// Where the last whole frame ends, or damage before it.
fn end(file: &File) -> io::Result<u64> {
    let size = file.metadata()?.len();
    let mut at = 0;
    loop {
        at = match next(file, at, size)? {
            Next::Whole(_, after) | Next::Damage(after) => after,
            Next::Nothing => return Ok(at),
        }
    }
}

enum Next {
    /// Some bodies, where each ends, and where the last does.
    Whole(Vec<(Vec<u8>, u64)>, u64),
    /// No frame, up to here.
    Damage(u64),
    /// The end, or something that is not whole and has nothing behind it.
    Nothing,
}

fn next(mut file: &File, at: u64, size: u64) -> io::Result<Next> {
    let mut block = block(&mut file, at, (size - at).min(BLOCK))?;
    let Some(head) = Head::read(&block).filter(|head| head.size <= RECORD_BYTES_MOST) else {
        return damage(file, at, size);
    };
    let whole = (HEAD + head.size) as u64;
    if at + whole > size {
        // Still being written, or its owner is dead and its successor will cut it off.
        return Ok(Next::Nothing);
    }
    if whole > block.len() as u64 {
        block = self::block(&mut file, at, whole)?;
    }
    let mut bodies = Vec::new();
    let mut used = 0;
    while let Some(head) = Head::read(&block[used..])
        && let Some(body) = block.get(used + HEAD..used + HEAD + head.size)
    {
        if !head.fits(body) {
            break;
        }
        used += HEAD + head.size;
        bodies.push((body.to_vec(), at + used as u64));
    }
    match bodies.is_empty() {
        // The end may still be overwritten.
        true if at + whole == size => Ok(Next::Nothing),
        // Its head is whole, so what it says of the size holds: looking into the body would be work without end in a file
        // of many heads.
        true => Ok(Next::Damage(at + whole)),
        false => Ok(Next::Whole(bodies, at + used as u64)),
    }
}

/// Looks for the next head behind a place where none is.
fn damage(mut file: &File, at: u64, size: u64) -> io::Result<Next> {
    let mut from = at + 1;
    while from + HEAD as u64 <= size {
        let block = block(&mut file, from, (size - from).min(BLOCK))?;
        if let Some(found) = frame::find(&block, 0) {
            return Ok(Next::Damage(from + found as u64));
        }
        if block.len() < HEAD {
            break;
        }
        // A head may begin in the last bytes of this block.
        from += (block.len() - HEAD + 1) as u64;
    }
    Ok(Next::Nothing)
}

fn block(file: &mut &File, at: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut block = Vec::with_capacity(bytes as usize);
    file.seek(SeekFrom::Start(at))?;
    file.take(bytes).read_to_end(&mut block)?;
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn written(bodies: &[&[u8]]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::open(&path).unwrap();
        for body in bodies {
            log.append(body).unwrap();
        }
        (folder, path)
    }

    fn all(path: &Path) -> Part {
        read(&File::open(path).unwrap(), 0, usize::MAX, usize::MAX).unwrap()
    }

    #[test]
    fn what_was_appended_is_read_in_parts_of_any_size() {
        let large = vec![7; 3 * BLOCK as usize];
        let bodies = [&b"a"[..], b"", &large, b"c", &large];
        let (_folder, path) = written(&bodies);
        assert_eq!(all(&path).bodies, bodies);
        let file = File::open(&path).unwrap();
        let mut at = 0;
        for body in bodies {
            let part = read(&file, at, 1, usize::MAX).unwrap();
            assert_eq!(part.bodies, [body]);
            at = part.next;
        }
        assert_eq!(read(&file, at, 9, 9).unwrap().bodies.len(), 0);
        // Enough bytes end a part, the last body being whole.
        assert_eq!(read(&file, 0, 9, 2).unwrap().bodies.len(), 3);
    }

    #[test]
    fn there_is_one_owner() {
        let (_folder, path) = written(&[]);
        let _owner = Log::open(&path).unwrap();
        let error = Log::open(&path).err().expect("somebody else owns it");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    /// Cut at any byte: readers get whole frames and wait, the next owner goes on behind them.
    #[test]
    fn a_torn_end_is_cut_off_by_its_owner_alone() {
        let (_folder, path) = written(&[b"first", b"second"]);
        let whole = std::fs::read(&path).unwrap();
        let first = HEAD + 5;
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let seen = all(&path);
            assert_eq!(seen.bodies.len(), usize::from(cut >= first), "{cut}");
            assert_eq!(seen.damaged, 0);
            assert_eq!(std::fs::metadata(&path).unwrap().len(), cut as u64);
            let mut owner = Log::open(&path).unwrap();
            owner.append(b"third").unwrap();
            // The reader goes on from where it waited.
            let file = File::open(&path).unwrap();
            let part = read(&file, seen.next, 9, 99).unwrap();
            assert_eq!((part.bodies, part.damaged), (vec![b"third".to_vec()], 0));
        }
    }

    #[test]
    fn a_flipped_byte_costs_its_own_frame_at_most() {
        let bodies: Vec<Vec<u8>> = (0..6u8).map(|n| vec![n; 10 + usize::from(n)]).collect();
        let slices: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        let (_folder, path) = written(&slices);
        let whole = std::fs::read(&path).unwrap();
        let last = whole.len() - HEAD - 15;
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            std::fs::write(&path, &changed).unwrap();
            let seen = all(&path);
            assert_eq!(seen.bodies.len(), 5, "byte {at}");
            assert!(seen.bodies.iter().all(|body| bodies.contains(body)));
            // Damage that ends the file may still be overwritten: readers wait there.
            assert_eq!(seen.damaged, u64::from(at < last), "byte {at}");
        }
    }

    #[test]
    fn damage_to_many_bytes_leaves_the_rest() {
        let bodies: Vec<Vec<u8>> = (0..200u32).map(|n| n.to_le_bytes().repeat(9)).collect();
        let slices: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        let (_folder, path) = written(&slices);
        let whole = std::fs::read(&path).unwrap();
        let mut random = Random::new(1);
        for _ in 0..200 {
            let mut changed = whole.clone();
            let at = random.below(whole.len() as u64) as usize;
            let size = random.below(500) as usize;
            let end = (at + size).min(whole.len());
            changed[at..end].fill_with(|| random.word() as u8);
            std::fs::write(&path, &changed).unwrap();
            let seen = all(&path);
            let hit = (end - at) / (HEAD + 36) + 2;
            assert!(seen.bodies.len() + hit >= 200, "{at} {size}");
            assert!(seen.bodies.iter().all(|body| bodies.contains(body)));
            // What follows is found too, whoever appends it.
            Log::open(&path).unwrap().append(b"after").unwrap();
            assert_eq!(all(&path).bodies.last().unwrap(), b"after");
        }
    }

    /// Each says that a megabyte follows, which is hashed once and not again for every head that lies in it.
    #[test]
    fn heads_without_their_bodies_are_passed_in_one_go() {
        let (_folder, path) = written(&[b"first"]);
        let head = frame::seal(&vec![7; 1 << 20])[..HEAD].to_vec();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend(head.repeat(150_000));
        bytes.extend(frame::seal(b"last"));
        std::fs::write(&path, &bytes).unwrap();
        let seen = all(&path);
        assert_eq!(seen.bodies[0], b"first");
        assert!(seen.damaged <= 4, "{}", seen.damaged);
    }

    #[test]
    fn a_log_that_somebody_cut_is_read_anew() {
        let (_folder, path) = written(&[b"first", b"second"]);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let next = all(&path).next;
        file.set_len((HEAD + 5) as u64).unwrap();
        let part = read(&File::open(&path).unwrap(), next, 9, 99).unwrap();
        assert_eq!((part.bodies, part.damaged), (vec![b"first".to_vec()], 1));
    }

    /// An input may contain a log. While its frame is being written, that is nothing to read.
    #[test]
    fn a_log_inside_a_body_is_not_read() {
        let inner = frame::seal(b"inner");
        let (_folder, path) = written(&[b"first", &inner]);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let seen = all(&path);
            assert_eq!(seen.damaged, 0, "{cut}");
            assert!(!seen.bodies.contains(&b"inner".to_vec()), "{cut}");
        }
    }

    #[test]
    fn a_cut_log_says_so() {
        let (_folder, path) = written(&[]);
        let mut log = Log::open(&path).unwrap();
        log.append(b"first").unwrap();
        assert!(!log.is_lost().unwrap());
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(HEAD as u64).unwrap();
        assert!(log.is_lost().unwrap());
    }

    #[test]
    fn a_removed_log_says_so() {
        let (_folder, path) = written(&[]);
        let log = Log::open(&path).unwrap();
        assert!(!log.is_lost().unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(log.is_lost().unwrap());
    }
}
