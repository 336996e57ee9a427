//! The contract between host and guest: names of exports and imports, codes, version.
//!
//! The only place where a name or number crosses between the two sides.
#![no_std]

/// Version of the contract; a guest built for another one is told so.
pub const ABI_VERSION: u32 = 1;

/// Export `(ptr: i32, len: i32) -> i32`: runs one input. libFuzzer's name and meaning.
pub const TEST_ONE_INPUT: &str = "LLVMFuzzerTestOneInput";
/// Export `(argc: i32, argv: i32) -> i32`: libFuzzer's set-up, run before the snapshot.
pub const INITIALIZE: &str = "LLVMFuzzerInitialize";
/// Export `() -> ()`: a WASI reactor's constructors, run before the snapshot.
pub const REACTOR_INITIALIZE: &str = "_initialize";
/// Export `() -> ()`: a WASI command.
pub const START: &str = "_start";
/// Export `() -> ()`: costly set-up, run before the snapshot.
pub const SETUP: &str = "sandglass_setup";
/// Export `() -> ()`: a generator, which draws and emits.
pub const GENERATE: &str = "sandglass_generate";
/// Export `() -> i32`: a property, which draws and checks.
pub const PROPERTY: &str = "sandglass_property";
/// Export `(bytes: i32) -> i32`: a block of the guest's heap, or null. With the next, for guests that have no `malloc`
/// for the host to find: it lets the heap grow before the snapshot.
pub const ALLOC: &str = "sandglass_alloc";
/// Export `(ptr: i32, bytes: i32) -> ()`: takes such a block back.
pub const FREE: &str = "sandglass_free";

/// Module of the imports below.
pub const IMPORT_MODULE: &str = "sandglass";
/// Import `(site: i32, role: i32, lo: i64, hi: i64) -> i64`: uniform in `[lo, hi]`.
pub const DRAW_INT: &str = "draw_int";
/// Import `(site: i32, role: i32, num: i32, den: i32) -> i32`: 1 with probability `num / den`.
pub const DRAW_BOOL: &str = "draw_bool";
/// Import `(site: i32, role: i32, lo: f64, hi: f64) -> f64`: uniform in `[lo, hi)`; `lo` if both are
/// the same. `hi - lo` must be finite and not negative.
pub const DRAW_FLOAT: &str = "draw_float";
/// Import `(site: i32, role: i32, ptr: i32, min: i32, max: i32) -> i32`: fills a buffer of `max`
/// bytes with between `min` and `max` of them, and returns how many.
pub const DRAW_BYTES: &str = "draw_bytes";
/// Import `(site: i32, role: i32, ptr: i32, max: i32) -> i32`: fills a buffer of `max` bytes with one of the target's own
/// strings and returns how many, or -1 where the guidance has none or chance will not have one.
pub const DRAW_STRING: &str = "draw_string";
/// The imports that draw.
pub const DRAWS: [&str; 5] = [DRAW_INT, DRAW_BOOL, DRAW_FLOAT, DRAW_BYTES, DRAW_STRING];
/// Import `(ptr: i32, len: i32) -> i32`: the id of a label, the same for the same text.
pub const LABEL: &str = "label";
/// Import `(label: i32) -> ()`: what is drawn from here on belongs together.
pub const SPAN_OPEN: &str = "span_open";
/// Import `(discard: i32) -> ()`: up to here; its result was thrown away unless 0.
pub const SPAN_CLOSE: &str = "span_close";
/// Import `(ptr: i32, len: i32) -> ()`: appends to the input that the target will get.
pub const EMIT: &str = "emit";
/// Import `(n: i32) -> ()`: how far an input got, 0 to 255.
pub const STAGE: &str = "stage";
/// Import `() -> ()`, which does not return: the trial is invalid.
pub const REJECT: &str = "reject";
/// Import `(ptr: i32, len: i32) -> ()`: text for reports.
pub const NOTE: &str = "note";

/// Import `() -> i32`: 1 if the host listens to the imports below, of dataflow programs; otherwise 0, and none of them need
/// be called. Elsewhere they do nothing.
pub const FLOW_WATCH: &str = "flow_watch";
/// Import `(operator: i32, kind: i32, depth: i32, ptr: i32, len: i32) -> ()`: an operator of a dataflow program, with its
/// number, an index of [`FLOW_KINDS`], its depth, and where it stands as text (`file:line`).
pub const FLOW_OPERATOR: &str = "flow_operator";
/// Import `(operator: i32, left: i32, left_len: i32, right: i32, right_len: i32) -> ()`: the bytes of two keys that an
/// operator found equal.
pub const FLOW_EQUAL: &str = "flow_equal";
/// Import `(operator: i32, key: i32, key_len: i32, size: i32) -> ()`: a group, the bytes of its key, and how many rows it has.
pub const FLOW_GROUP: &str = "flow_group";
/// Import `(operator: i32, kept: i32) -> ()`: what a filter did with a row, 0 or 1.
pub const FLOW_FILTER: &str = "flow_filter";
/// The byte between the data sets of an input for a dataflow program: ASCII's file separator.
pub const FLOW_SEPARATOR: u8 = 0x1c;
/// The operators of dataflow programs; their place here is their number.
pub const FLOW_KINDS: [&str; 17] = [
    "map",
    "flat_map",
    "filter",
    "map_values",
    "join",
    "left_join",
    "full_join",
    "cogroup",
    "intersection",
    "union",
    "group_by_key",
    "reduce_by_key",
    "aggregate_by_key",
    "count_by_key",
    "reduce",
    "sort_by",
    "distinct",
];

/// What a target returns for an input that it accepts.
pub const VALID: i32 = 0;
/// What a target returns for an input that it rejects.
pub const INVALID: i32 = -1;
