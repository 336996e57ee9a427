//! Types that know how to be drawn.

use crate::{Depth, Int, Role, Site, float};

/// A type whose values can be drawn.
///
/// With the feature `derive`, `#[derive(Generate)]` writes it for structs and enums:
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use sandglass_sdk::{Generate, native, site};
///
/// #[derive(Debug, Generate)]
/// enum Sum {
///     #[generate(weight = 3)]
///     Number(u8),
///     Add(Box<Sum>, Box<Sum>),
/// }
///
/// native::run(native::Source::Seeded(1), || site!().any::<Sum>());
/// # }
/// ```
///
/// A type without an end is refused, where it holds itself:
///
/// ```compile_fail
/// #[derive(sandglass_sdk::Generate)]
/// enum Endless {
///     One(Box<Endless>),
///     Two(Box<Endless>, Box<Endless>),
/// }
/// ```
///
/// ```compile_fail
/// #[derive(sandglass_sdk::Generate)]
/// struct Node {
///     value: u8,
///     next: Box<Node>, // with an Option around it, there is an end
/// }
/// ```
///
/// A cycle through another type (a `Node` that holds a `Box<Edge>`, which holds a `Box<Node>`), or through a type's
/// parameters, is not seen: such a type compiles, and to draw one overflows the stack.
///
/// Which variant, how many elements and whether at all are drawn as structure; numbers, characters and truth values
/// as values.
pub trait Generate: Sized {
    /// Draws a value, at `site` and at places within it, no deeper than `depth`.
    fn generate(site: Site, depth: Depth) -> Self;
}

/// Levels of nesting for [`Site::any`]: deep enough to nest each production in each other, shallow enough that trees
/// with two children per node stay below a hundred nodes. Chosen by trying.
const LEVELS: u32 = 5;

impl Site {
    /// A value of a type that knows how to be drawn.
    pub fn any<T: Generate>(self) -> T {
        T::generate(self, Depth::of(LEVELS))
    }
}

macro_rules! ints {
    ($($int:ident)*) => {$(
        impl Generate for $int {
            fn generate(site: Site, _: Depth) -> $int {
                whole(site)
            }
        }
    )*};
}
ints!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

fn whole<T: Int>(site: Site) -> T {
    site.or_role(Role::Value).int(..)
}

impl Generate for bool {
    fn generate(site: Site, _: Depth) -> bool {
        site.or_role(Role::Value).boolean()
    }
}

impl Generate for char {
    fn generate(site: Site, _: Depth) -> char {
        // Most text is, and most branches of a parser are, about ASCII.
        let site = site.or_role(Role::Value);
        match site.part(0).chance(1, 4) {
            false => site.part(1).char(' '..='~'),
            true => site.part(2).char('\0'..=char::MAX),
        }
    }
}

/// Every float, infinity and NaN: one half of the time any, a quarter whole numbers of 16 bits, a quarter edges (0, −0,
/// 1, the greatest and the least, NaN, …). Simple ones come first, and shrinking goes towards them: whole numbers, then
/// fractions by how few bits they need, then infinity, then NaN; each float before its negative, and −0 last.
impl Generate for f64 {
    fn generate(site: Site, _: Depth) -> f64 {
        float::any_f64(site)
    }
}

/// As `f64`.
impl Generate for f32 {
    fn generate(site: Site, _: Depth) -> f32 {
        float::any_f32(site)
    }
}

impl<T: Generate> Generate for Option<T> {
    fn generate(site: Site, depth: Depth) -> Option<T> {
        let depth = depth.down()?;
        let some = site.part(0).with_role(Role::Structure).boolean();
        some.then(|| T::generate(site.part(1), depth))
    }
}

impl<T: Generate, E: Generate> Generate for Result<T, E> {
    fn generate(site: Site, depth: Depth) -> Result<T, E> {
        if site.part(0).with_role(Role::Structure).boolean() {
            Ok(T::generate(site.part(1), depth))
        } else {
            Err(E::generate(site.part(2), depth))
        }
    }
}

impl<T: Generate, const N: usize> Generate for [T; N] {
    fn generate(site: Site, depth: Depth) -> [T; N] {
        core::array::from_fn(|_| T::generate(site, depth))
    }
}

impl Generate for () {
    fn generate(_: Site, _: Depth) {}
}

macro_rules! tuples {
    ($($(($name:ident $index:literal))*;)*) => {$(
        impl<$($name: Generate),*> Generate for ($($name,)*) {
            fn generate(site: Site, depth: Depth) -> Self {
                ($($name::generate(site.part($index), depth),)*)
            }
        }
    )*};
}
tuples! {
    (A 0);
    (A 0) (B 1);
    (A 0) (B 1) (C 2);
    (A 0) (B 1) (C 2) (D 3);
}

#[cfg(feature = "alloc")]
mod allocated {
    use alloc::{boxed::Box, rc::Rc, string::String, sync::Arc, vec::Vec};

    use super::{Depth, Generate, Role, Site};

    /// Most elements of a vector, most characters of a string; three on average, like the children of Zest's elements.
    const MANY: usize = 32;

    impl<T: Generate> Generate for Box<T> {
        fn generate(site: Site, depth: Depth) -> Box<T> {
            Box::new(T::generate(site, depth))
        }
    }

    impl<T: Generate> Generate for Rc<T> {
        fn generate(site: Site, depth: Depth) -> Rc<T> {
            Rc::new(T::generate(site, depth))
        }
    }

    impl<T: Generate> Generate for Arc<T> {
        fn generate(site: Site, depth: Depth) -> Arc<T> {
            Arc::new(T::generate(site, depth))
        }
    }

    impl<T: Generate> Generate for Vec<T> {
        fn generate(site: Site, depth: Depth) -> Vec<T> {
            let Some(depth) = depth.down() else {
                return Vec::new();
            };
            let turns = site.part(0).with_role(Role::Structure);
            let turns = turns.repeat_while(0..=MANY, 3, 4);
            turns.map(|_| T::generate(site.part(1), depth)).collect()
        }
    }

    impl Generate for String {
        fn generate(site: Site, depth: Depth) -> String {
            let site = site.or_role(Role::Value);
            let turns = site.part(0).repeat_while(0..=MANY, 3, 4);
            turns.map(|_| char::generate(site.part(1), depth)).collect()
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::native::{Source, run};
    use crate::site;
    use std::{string::String, vec::Vec};

    #[test]
    fn nesting_ends_at_the_depth() {
        type Nested = Vec<Vec<Vec<Option<u8>>>>;
        let run = run(Source::Seeded(3), || {
            Nested::generate(site!(), Depth::of(0))
        });
        assert_eq!(run.drawn.len(), 0);
        for seed in 0..50 {
            let run = crate::native::run(Source::Seeded(seed), || {
                Nested::generate(site!(), Depth::of(2))
            });
            assert!(
                run.done().iter().flatten().all(Vec::is_empty),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn shape_is_structure_and_content_is_value() {
        let run = run(Source::Seeded(5), || {
            site!().any::<(Vec<u8>, String, Option<char>)>()
        });
        let roles: Vec<Role> = run.drawn.iter().map(|drawn| drawn.role).collect();
        assert_eq!(roles[0], Role::Structure, "whether there is an element");
        assert!(roles.contains(&Role::Value));
        assert!(!roles.contains(&Role::Unknown));
    }
}
