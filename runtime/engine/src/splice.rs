//! Splicing: the head of one input before the tail of another, as in AFL 2.52b.
//!
//! In: two inputs. Out: the second with its head replaced by the first's, cut somewhere between the
//! first and the last byte in which they differ; or nothing, if they differ too little.

use crate::rng::Rng;

/// The first and the last index at which the common length of two inputs differs.
fn differences(left: &[u8], right: &[u8]) -> Option<(usize, usize)> {
    let differs = |&i: &usize| left[i] != right[i];
    let len = left.len().min(right.len());
    let first = (0..len).find(differs)?;
    let last = (0..len).rev().find(differs)?;
    Some((first, last))
}

/// `left` up to a random cut, then `right`. Nothing if the inputs differ in fewer than two places,
/// or only in their first two bytes (AFL asks for `l_diff >= 2`).
pub fn splice(left: &[u8], right: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let (first, last) = differences(left, right)?;
    if last < 2 || first == last {
        return None;
    }
    let cut = first + rng.index(last - first);
    let mut child = right.to_vec();
    child[..cut].copy_from_slice(&left[..cut]);
    Some(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_is_a_head_and_a_tail() {
        let mut rng = Rng::new(1);
        for _ in 0..1_000 {
            let child = splice(b"xaaaax", b"xbbbbxtail", &mut rng).unwrap();
            assert_eq!(child.len(), 10);
            let a = child[1..5].iter().take_while(|&&byte| byte == b'a').count();
            assert!(child[1 + a..5].iter().all(|&byte| byte == b'b'));
            assert!(a < 4);
        }
    }

    #[test]
    fn too_similar_inputs_have_no_splice() {
        let mut rng = Rng::new(1);
        assert_eq!(splice(b"aaaa", b"aaaa", &mut rng), None);
        assert_eq!(splice(b"aaaa", b"aaab", &mut rng), None);
        assert_eq!(splice(b"aa", b"bb", &mut rng), None);
        assert_eq!(splice(b"", b"bb", &mut rng), None);
    }
}
