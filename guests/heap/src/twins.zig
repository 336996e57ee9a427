//! Memory errors in Zig with their good twins: see twins.c.

const std = @import("std");
const c = std.c;
const heap = std.heap.c_allocator;

/// Of an error that is not found nothing else may come: no messages, and none of what they are made with.
pub const panic = std.debug.no_panic;

/// Keeps the compiler from knowing what a value is.
fn hide(value: anytype) @TypeOf(value) {
    var hidden = value;
    return @as(*volatile @TypeOf(value), &hidden).*;
}

// case: heap-overflow CWE-122
noinline fn write_past_a_slice(bad: bool) void {
    const slice = heap.alloc(u8, 24) catch return;
    const p = hide(slice.ptr);
    p[if (bad) 24 else 23] = 1; // BAD
    heap.free(hide(slice));
}

// case: heap-overflow CWE-126
noinline fn read_past_a_slice(bad: bool) void {
    const slice = heap.alloc(u32, 6) catch return;
    @memset(slice, 1);
    const p = hide(slice.ptr);
    _ = hide(p[if (bad) 6 else 5]); // BAD
    heap.free(slice);
}

// case: heap-overflow CWE-124
noinline fn write_before_a_slice(bad: bool) void {
    const slice = heap.alloc(u8, 24) catch return;
    const p = hide(slice.ptr + 1);
    (p - hide(@as(usize, if (bad) 2 else 1)))[0] = 1; // BAD
    heap.free(hide(slice));
}

// case: heap-overflow CWE-127
noinline fn read_before_a_block(bad: bool) void {
    const p: [*]u32 = @ptrCast(@alignCast(hide(c.malloc(24)) orelse return));
    p[0] = 1;
    _ = hide((p + 1 - hide(@as(usize, if (bad) 2 else 1)))[0]); // BAD
    c.free(p);
}

// case: use-after-free CWE-416
noinline fn pointer_into_a_grown_list(bad: bool) void {
    var list: std.ArrayList(u32) = .empty;
    list.appendNTimes(heap, 1, 16) catch return;
    const p = hide(list.items.ptr);
    if (bad) list.appendNTimes(heap, 2, 1000) catch return;
    p[5] = 7; // BAD
    list.deinit(heap);
}

// case: use-after-free CWE-416
noinline fn read_of_a_destroyed_value(bad: bool) void {
    const value = heap.create([8]u32) catch return;
    value.* = @splat(5);
    if (bad) heap.destroy(value);
    _ = hide(hide(value)[3]); // BAD
    if (!bad) heap.destroy(value);
}

// case: double-free CWE-415
noinline fn destroyed_twice(bad: bool) void {
    const p = hide(c.malloc(24));
    c.free(p);
    if (bad) c.free(hide(p)); // BAD
}

// case: invalid-free CWE-761
noinline fn free_of_the_middle(bad: bool) void {
    const p: [*]u8 = @ptrCast(hide(c.malloc(24)) orelse return);
    c.free(if (bad) p + 8 else p); // BAD
}

// case: invalid-free CWE-590
noinline fn free_of_a_local(bad: bool) void {
    var local: [32]u8 align(16) = @splat(1);
    const p = hide(c.malloc(24));
    c.free(if (bad) hide(@as(*anyopaque, &local)) else p); // BAD
}

// case: null-access CWE-476
noinline fn read_of_null(bad: bool) void {
    var value: u32 = 5;
    const p = hide(if (bad) @as(*allowzero u32, @ptrFromInt(0)) else @as(*allowzero u32, &value));
    _ = hide(p.*); // BAD
}

// case: frame-overflow CWE-121
noinline fn fill_over_the_frame(bad: bool) void {
    var local: [16]u8 = @splat(1);
    const p: [*]u8 = hide(@as([*]u8, &local));
    @memset(p[0..hide(@as(usize, if (bad) 200 else 16))], 2); // BAD
    _ = hide(local[3]);
}

// case: unclaimed CWE-121
noinline fn write_after_a_local(bad: bool) void {
    var local: [16]u8 = @splat(1);
    const p: [*]u8 = hide(@as([*]u8, &local));
    p[if (bad) 16 else 15] = 2; // BAD
}

// case: unclaimed CWE-457
noinline fn read_of_undefined(bad: bool) void {
    var local: [4]u32 = undefined;
    const p: [*]u32 = hide(@as([*]u32, &local));
    if (!bad) p[2] = 1;
    _ = hide(p[2]); // BAD
}

const twins = [_]*const fn (bool) void{
    write_past_a_slice, read_past_a_slice,  write_before_a_slice, read_before_a_block, pointer_into_a_grown_list, read_of_a_destroyed_value,
    destroyed_twice,    free_of_the_middle, free_of_a_local,      read_of_null,        fill_over_the_frame,       write_after_a_local,
    read_of_undefined,
};

export fn LLVMFuzzerTestOneInput(data: [*]const u8, size: usize) c_int {
    // A frame: see twins.c.
    var frame: [64]u8 = undefined;
    _ = hide(&frame);
    if (size < 2 or data[0] >= twins.len) return -1;
    twins[data[0]](data[1] == 'b');
    return 0;
}
