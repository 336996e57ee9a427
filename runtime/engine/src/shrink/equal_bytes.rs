//! Edits equal bytes at once, because what holds may be that they are: those of equal draws, and
//! every byte of one value.

use std::collections::BTreeSet;

use super::Search;
use super::cuts::Cuts;
use crate::choice::Domain;

pub(super) fn pass<E>(search: &mut Search<'_, E>) -> Result<(), E> {
    for text in repeated(draws(search)) {
        shorten(search, text)?;
    }
    for byte in repeated(draws(search).concat()) {
        lower(search, byte)?;
    }
    Ok(())
}

/// What is there more than once, each once, ascending.
fn repeated<T: Ord>(mut all: Vec<T>) -> BTreeSet<T> {
    all.sort_unstable();
    let mut repeated = BTreeSet::new();
    let mut all = all.into_iter().peekable();
    while let Some(one) = all.next() {
        if all.peek() == Some(&one) {
            repeated.insert(one);
        }
    }
    repeated
}

/// The bytes of each draw that has some.
fn draws<E>(search: &Search<'_, E>) -> Vec<Vec<u8>> {
    let drawn = search.best.iter().filter(|(_, bytes)| !bytes.is_empty());
    drawn.map(|(_, bytes)| bytes.to_vec()).collect()
}

/// Without runs of bytes of every draw that is `text`, the longest runs first.
fn shorten<E>(search: &mut Search<'_, E>, mut text: Vec<u8>) -> Result<(), E> {
    let mut cut = text.len();
    while cut > 0 && !search.is_spent() {
        let mut end = text.len();
        let mut cuts = Cuts::default();
        while end >= cut && !search.is_spent() {
            let from = end - cut;
            if cuts.is_new(from, end, |one, other| text[one] == text[other]) {
                let mut shorter = text.clone();
                shorter.drain(from..end);
                if edit(search, |bytes| {
                    if *bytes == text {
                        bytes.clone_from(&shorter);
                    }
                })? {
                    text = shorter;
                    cuts.clear();
                }
            }
            end = (end - 1).min(text.len());
        }
        cut = (cut / 2).min(text.len());
    }
    Ok(())
}

/// The least byte in the place of every `high` for which it holds, if it does for all greater ones.
fn lower<E>(search: &mut Search<'_, E>, mut high: u8) -> Result<(), E> {
    let mut low = 0;
    while low < high && !search.is_spent() {
        let middle = low.midpoint(high);
        let to_middle = |bytes: &mut Vec<u8>| {
            for byte in bytes.iter_mut().filter(|byte| **byte == high) {
                *byte = middle;
            }
        };
        if edit(search, to_middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(())
}

/// Tries an edit of the bytes of every draw that may have some.
fn edit<E>(search: &mut Search<'_, E>, edit: impl Fn(&mut Vec<u8>)) -> Result<bool, E> {
    search.attempt(|candidate| {
        let mut payload = Vec::with_capacity(candidate.payload.len());
        let mut rest = candidate.payload.as_slice();
        for node in candidate.nodes.iter_mut() {
            if let Domain::Bytes { .. } = node.draw.domain {
                let (bytes, behind) = rest.split_at(node.value as usize);
                rest = behind;
                let mut bytes = bytes.to_vec();
                edit(&mut bytes);
                node.value = bytes.len() as u64;
                payload.extend_from_slice(&bytes);
            }
        }
        candidate.payload = payload;
        true
    })
}
