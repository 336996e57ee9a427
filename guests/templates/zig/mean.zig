//! The mean of the digits in `mean:1,2,3`.

const std = @import("std");

/// Null if the text is something else.
pub fn mean(text: []const u8) ?u32 {
    if (!std.mem.startsWith(u8, text, "mean:")) return null;
    var sum: u32 = 0;
    var count: u32 = 0;
    for (text[5..]) |byte| {
        if (!std.ascii.isDigit(byte)) continue;
        sum += byte - '0';
        count += 1;
    }
    return sum / count; // the planted fault: there may be no digits
}
