//! The pipe against the exchange behind it, and both of its ends against nonsense.

use std::io::{PipeReader, PipeWriter, pipe};
use std::thread::JoinHandle;

use super::*;
use crate::conformance::{entry, job};
use crate::memory::{Faults, Memory};
use crate::random::Random;

const PATIENCE: Duration = Duration::from_secs(60);

fn relay(memory: &Memory) -> (PipeExchange, JoinHandle<io::Result<()>>) {
    let (asked, ask) = pipe().unwrap();
    let (answer, answering) = pipe().unwrap();
    let mut exchange = memory.join();
    let relay = std::thread::spawn(move || serve(&mut exchange, asked, answering));
    (PipeExchange::new(answer, ask, PATIENCE).unwrap(), relay)
}

#[test]
fn conforms() {
    let memory = Memory::new(Faults::NONE);
    crate::conformance::check(&mut |_| Box::new(relay(&memory).0));
}

#[test]
fn what_may_not_be_said_is_refused_and_the_pipe_goes_on() {
    let memory = Memory::new(Faults::NONE);
    let (mut there, _relay) = relay(&memory);
    let large = entry(&vec![0; codec::INPUT_BYTES_MOST + 1]);
    assert!(matches!(there.offer(&large), Err(Error::Refused(_))));
    // Past the client's own check.
    let hostile = Ask::Offer(codec::encode(&large));
    assert!(matches!(there.ask(&hostile), Err(Error::Refused(_))));
    let up = Ask::Get("../up".into());
    assert!(matches!(there.ask(&up), Err(Error::Refused(_))));
    assert_eq!(there.offer(&entry(b"x")).unwrap(), Offered::New);
    assert_eq!(there.refused(), 2);
}

#[test]
fn a_dead_peer_is_away_for_ever() {
    let (asked, ask) = pipe().unwrap();
    let (answer, mut answering) = pipe().unwrap();
    write_hello(&mut answering);
    let mut there = PipeExchange::new(answer, ask, PATIENCE).unwrap();
    drop((asked, answering));
    for _ in 0..3 {
        assert!(matches!(there.poisoned(), Err(Error::Away(_))));
    }
}

#[test]
fn a_silent_peer_is_away_until_it_answers() {
    let (mut asked, ask) = pipe().unwrap();
    let (answer, mut answering) = pipe().unwrap();
    write_hello(&mut answering);
    let patience = Duration::from_millis(200);
    let mut there = PipeExchange::new(answer, ask, patience).unwrap();
    for _ in 0..3 {
        assert!(matches!(there.poisoned(), Err(Error::Away(_))));
    }
    // Now it wakes up, answers what was asked, and from then on at once.
    let relay = std::thread::spawn(move || {
        let hello = read_frame(&mut asked).unwrap();
        assert!(hello.is_some());
        let mut exchange = Memory::new(Faults::NONE).join();
        serve(&mut exchange, asked, answering)
    });
    let answer = loop {
        match there.keys() {
            Err(Error::Away(_)) => std::thread::yield_now(),
            answer => break answer,
        }
    };
    // Not the poison list that was asked for long ago.
    assert_eq!(answer.unwrap(), []);
    drop(there);
    relay.join().unwrap().unwrap();
}

fn write_hello(answering: &mut PipeWriter) {
    let hello = Reply {
        refused: 0,
        answer: Answer::Done,
    };
    write_frame(answering, &plain_bytes(&hello)).unwrap();
}

/// Ends the client's own thread when a test needs no more answers.
fn client(frames: &[Vec<u8>]) -> (PipeExchange, PipeReader) {
    let (asked, ask) = pipe().unwrap();
    let (answer, mut answering) = pipe().unwrap();
    write_hello(&mut answering);
    for frame in frames {
        write_frame(&mut answering, frame).unwrap();
    }
    (PipeExchange::new(answer, ask, PATIENCE).unwrap(), asked)
}

#[test]
fn a_relay_that_lies_does_no_harm() {
    let mut bad = codec::encode(&entry(b"y"));
    bad[0] = 9;
    let good = codec::encode(&entry(b"x"));
    let entries = |packed: Vec<Vec<u8>>| {
        let packed = packed.into_iter().map(Packed).collect();
        plain_bytes(&Reply {
            refused: 1,
            answer: Answer::Entries(vec![], packed),
        })
    };
    let frames = [
        entries(vec![bad, good.clone()]),
        entries(vec![good; 3]),
        vec![255; 40],
        plain_bytes(&Reply {
            refused: 1,
            answer: Answer::Done,
        }),
    ];
    let (mut there, _asked) = client(&frames);
    let mut cursor = Cursor::default();
    assert_eq!(there.tail(&mut cursor, 2).unwrap(), [entry(b"x")]);
    assert_eq!(there.refused(), 2);
    for _ in 0..3 {
        let answer = there.tail(&mut cursor, 2);
        assert!(matches!(answer, Err(Error::Failed(_))), "{answer:?}");
    }
}

/// Neither end panics, grows, or goes on with a stream that it cannot follow.
#[test]
fn damaged_streams_do_no_harm() {
    let asks = [
        plain_bytes(&Ask::Hello(VERSION)),
        plain_bytes(&Ask::Offer(codec::encode(&entry(b"x")))),
        plain_bytes(&Ask::Submit(codec::encode(&job(1)))),
        plain_bytes(&Ask::Claim([1; 32], 9, 1)),
        plain_bytes(&Ask::Tail(vec![("arrived".into(), 0)], 3)),
        plain_bytes(&Ask::PutIf("k".into(), 0, vec![1])),
    ];
    let mut whole = Vec::new();
    for ask in &asks {
        write_frame(&mut whole, ask).unwrap();
    }
    let mut random = Random::new(7);
    for _ in 0..3_000 {
        let mut damaged = whole.clone();
        let at = random.below(damaged.len() as u64) as usize;
        damaged[at] = [0, 251, 253, 255, random.word() as u8][random.below(5) as usize];
        let mut exchange = Memory::new(Faults::NONE).join();
        let mut said = Vec::new();
        let _ended_or_not = serve(&mut exchange, &damaged[..], &mut said);
        // Whatever it answered are whole answers.
        let mut said = &said[..];
        while let Some(frame) = read_frame(&mut said).unwrap() {
            codec::plain::<Reply>(&frame).unwrap();
        }
    }
}

#[test]
fn a_frame_that_promises_too_much_is_not_waited_for() {
    let bytes = (FRAME_BYTES_MOST as u32 + 1).to_le_bytes();
    let error = read_frame(&mut &bytes[..]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    let error = read_frame(&mut &[200, 0, 0, 0, 1][..]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}
