//! The mean of the digits in `mean:1,2,3`.

/// Nothing, if the text is something else.
pub fn mean(text: &[u8]) -> Option<u32> {
    let list = text.strip_prefix(b"mean:")?;
    let digits = list.iter().filter(|byte| byte.is_ascii_digit());
    let (sum, count) = digits.fold((0, 0), |(sum, count), digit| {
        (sum + u32::from(digit - b'0'), count + 1)
    });
    // The planted fault: there may be no digits.
    Some(sum / count)
}
