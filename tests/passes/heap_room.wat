;; build: fast
;; The allocator's functions are reached from outside under names of our own.
(module
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 1024))
  (func $malloc (export "malloc") (param $bytes i32) (result i32)
    global.get $top
    (global.set $top (i32.add (global.get $top) (local.get $bytes))))
  (func $free (export "free") (param i32))
  (func (export "LLVMFuzzerTestOneInput") (param i32 i32) (result i32)
    (call $free (call $malloc (i32.const 8)))
    i32.const 0))
