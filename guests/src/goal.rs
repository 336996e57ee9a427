//! Goals: functions of a subject that campaigns are asked about one by one.

/// Subjects and the beginning of their goals' names, without modules.
const GOALS: &[(&str, &str)] = &[
    // The line of SpotOn's example: photos of one year.
    ("rust-lambda-image-year", "album_of_the_year"),
    // Branches that compare what a generator built with a constant.
    ("rust-magic", "solved_"),
];

/// The goal that a function of a subject is, if it is one: its name without modules.
pub fn goal<'a>(subject: &str, function: &'a str) -> Option<&'a str> {
    let name = function.rsplit("::").next().unwrap_or(function);
    let mut known = GOALS.iter().filter(|(of, _)| *of == subject);
    known
        .any(|(_, beginning)| name.starts_with(beginning))
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_known_by_its_name_without_modules() {
        assert_eq!(
            goal("rust-magic", "rust_magic::solved_04"),
            Some("solved_04")
        );
        assert_eq!(goal("rust-magic", "rust_magic::check"), None);
        assert_eq!(goal("rust-png", "png::solved_04"), None);
    }
}
