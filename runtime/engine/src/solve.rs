//! stub
use crate::trial::Detail;
use serde::{Deserialize, Serialize};

/// One
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solution {
    /// in
    pub input: Vec<u8>,
    /// site
    pub site: u32,
}
/// s
pub fn solve(
    _detail: &Detail,
    _max: u32,
    _limit: usize,
    _tries: impl Fn(u32) -> u32,
) -> Vec<Solution> {
    Vec::new()
}
/// t
pub fn tokens(_detail: &Detail) -> Vec<Vec<u8>> {
    Vec::new()
}
