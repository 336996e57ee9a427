//! Where a draw is made, and what part it plays.

/// What a draw decides, as far as the author says. The numbers are those of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum Role {
    /// The author does not say; the engine learns it.
    Unknown = 0,
    /// Later draws depend on it: which production, how many, whether at all.
    Structure = 1,
    /// No later draw depends on it: a name, a number, an operator.
    Value = 2,
}

/// The place in the source where a draw is made. Its methods are the draws.
///
/// Made by [`structure!`](crate::structure), [`value!`](crate::value) and [`site!`](crate::site).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    id: u32,
    role: Role,
}

impl Site {
    /// A place in the source. The path is a module's and not a file's, because a file's may begin with where the
    /// sources lie on the machine that builds them.
    pub const fn at(module: &str, line: u32, column: u32) -> Site {
        let id = mix(mix(hash(module), line), column);
        Site {
            id,
            role: Role::Unknown,
        }
    }

    /// A place with a name of its own: the same wherever it stands in the source.
    pub const fn named(name: &str) -> Site {
        Site {
            id: hash(name),
            role: Role::Unknown,
        }
    }

    /// The number that the host gets, the same in every build.
    pub const fn id(self) -> u32 {
        self.id
    }

    /// The part that draws at this place play.
    pub const fn role(self) -> Role {
        self.role
    }

    /// The same place in another role.
    pub const fn with_role(self, role: Role) -> Site {
        Site { id: self.id, role }
    }

    /// The same place, in this role unless the author has said another.
    pub const fn or_role(self, role: Role) -> Site {
        match self.role {
            Role::Unknown => self.with_role(role),
            _ => self,
        }
    }

    /// One of several places within this one, with its role.
    pub const fn part(self, index: u32) -> Site {
        Site {
            id: mix(self.id, index),
            role: self.role,
        }
    }
}

/// FNV-1a, 32 bits: short, and constant expressions may use it.
const fn hash(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let mut hash = 0x811c_9dc5;
    let mut index = 0;
    while index < bytes.len() {
        hash = step(hash, bytes[index]);
        index += 1;
    }
    hash
}

const fn mix(hash: u32, number: u32) -> u32 {
    let [a, b, c, d] = number.to_le_bytes();
    step(step(step(step(hash, a), b), c), d)
}

const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// This place in the source, in a role that the engine shall learn.
///
/// Within a macro it is the place of the outermost macro: use [`Site::part`] where a macro draws more than once.
#[macro_export]
macro_rules! site {
    () => {
        const { $crate::Site::at(module_path!(), line!(), column!()) }
    };
}

/// This place in the source, for a draw on which later draws depend.
#[macro_export]
macro_rules! structure {
    () => {
        const {
            $crate::Site::at(module_path!(), line!(), column!())
                .with_role($crate::Role::Structure)
        }
    };
}

/// This place in the source, for a draw on which no later draw depends.
#[macro_export]
macro_rules! value {
    () => {
        const { $crate::Site::at(module_path!(), line!(), column!()).with_role($crate::Role::Value) }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_differ_and_the_number_is_fixed() {
        let (here, there) = (site!(), site!());
        assert_ne!(here.id(), there.id());
        assert_ne!(here.part(0).id(), here.part(1).id());
        assert_eq!(structure!().role(), Role::Structure);
        assert_eq!(value!().part(3).role(), Role::Value);
        // The number is in recorded campaigns: it must never change. FNV-1a of "a" is a published test vector.
        assert_eq!(Site::named("a").id(), 0xe40c_292c);
        assert_eq!(Site::at("a", 1, 2).id(), AT);
    }

    const AT: u32 = Site::at("a", 1, 2).id();
}
