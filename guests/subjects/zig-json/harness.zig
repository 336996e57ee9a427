//! Zig's std.json: parses a document into a dynamic value, in a fixed buffer.
const std = @import("std");

var arena: [1 << 20]u8 = undefined;

export fn LLVMFuzzerTestOneInput(data: [*]const u8, size: usize) i32 {
    var fixed = std.heap.FixedBufferAllocator.init(&arena);
    _ = std.json.parseFromSliceLeaky(std.json.Value, fixed.allocator(), data[0..size], .{}) catch return -1;
    return 0;
}
