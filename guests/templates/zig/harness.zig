const mean = @import("mean.zig").mean;

export fn LLVMFuzzerTestOneInput(data: [*]const u8, size: usize) c_int {
    return if (mean(data[0..size]) == null) -1 else 0;
}
