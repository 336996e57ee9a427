//! Binary trees with colours that may be red-black trees: a validity that random draws rarely meet.
//!
//! Valid is: ordered without equal values, the root black, no red below red, and equally many black nodes on every
//! way down.

use sandglass_sdk::{Depth, span, structure, value};

/// A node, its colour and what is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    value: u8,
    red: bool,
    left: Option<Box<Tree>>,
    right: Option<Box<Tree>>,
}

/// Draws a tree of at most four levels with values up to 31.
pub fn tree() -> Tree {
    node(Depth::of(3))
}

fn node(depth: Depth) -> Tree {
    let _span = span!("node");
    let child = || {
        let depth = depth.down().filter(|_| structure!().boolean())?;
        Some(Box::new(node(depth)))
    };
    Tree {
        left: child(),
        value: value!().int(0..=31),
        red: value!().boolean(),
        right: child(),
    }
}

impl Tree {
    /// Whether it is a red-black tree.
    pub fn is_balanced(&self) -> bool {
        !self.red && self.black_height(None, None).is_some()
    }

    /// Black nodes on every way down, if there are equally many and the order is right.
    fn black_height(&self, below: Option<u8>, above: Option<u8>) -> Option<u32> {
        let in_order = below.is_none_or(|below| below < self.value)
            && above.is_none_or(|above| self.value < above);
        let red_below = [&self.left, &self.right]
            .into_iter()
            .flatten()
            .any(|child| child.red);
        if !in_order || (self.red && red_below) {
            return None;
        }
        let height = |side: &Option<Box<Tree>>, below, above| match side {
            Some(tree) => tree.black_height(below, above),
            None => Some(0),
        };
        let left = height(&self.left, below, Some(self.value))?;
        let right = height(&self.right, Some(self.value), above)?;
        (left == right).then_some(left + u32::from(!self.red))
    }

    /// As text, different for different trees: `(3b (1r - -) -)`.
    pub fn to_text(&self) -> String {
        let colour = if self.red { 'r' } else { 'b' };
        let side = |side: &Option<Box<Tree>>| {
            side.as_ref()
                .map_or_else(|| "-".to_string(), |tree| tree.to_text())
        };
        format!(
            "({}{colour} {} {})",
            self.value,
            side(&self.left),
            side(&self.right)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(value: u8, red: bool) -> Option<Box<Tree>> {
        Some(Box::new(Tree {
            value,
            red,
            left: None,
            right: None,
        }))
    }

    fn root(red: bool, left: Option<Box<Tree>>, right: Option<Box<Tree>>) -> Tree {
        Tree {
            value: 5,
            red,
            left,
            right,
        }
    }

    #[test]
    fn each_rule_can_be_broken() {
        assert!(root(false, leaf(3, true), leaf(7, true)).is_balanced());
        assert!(root(false, leaf(3, false), leaf(7, false)).is_balanced());
        assert!(root(false, leaf(3, true), None).is_balanced());
        assert!(!root(true, None, None).is_balanced(), "a red root");
        assert!(
            !root(false, leaf(3, false), None).is_balanced(),
            "unequal heights"
        );
        assert!(
            !root(false, leaf(5, true), None).is_balanced(),
            "not ordered"
        );
        let mut red_below_red = root(false, leaf(3, true), leaf(7, true));
        let left = red_below_red.left.as_mut().expect("it was just made");
        left.left = leaf(1, true);
        assert!(!red_below_red.is_balanced());
    }
}
