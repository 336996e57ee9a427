;; Eight separate comparisons, then a trap: the smallest thing to fuzz.
;; input: sandglas
;; expect: trap unreachable
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (i32.lt_u (local.get $len) (i32.const 8)) (then (return (i32.const -1))))
    (if (i32.ne (i32.load8_u offset=0 (local.get $ptr)) (i32.const 0x73)) (then (return (i32.const -1))))
    (if (i32.ne (i32.load8_u offset=1 (local.get $ptr)) (i32.const 0x61)) (then (return (i32.const -1))))
    (if (i32.ne (i32.load8_u offset=2 (local.get $ptr)) (i32.const 0x6e)) (then (return (i32.const -1))))
    (if (i32.ne (i32.load8_u offset=3 (local.get $ptr)) (i32.const 0x64)) (then (return (i32.const -1))))
    (if (i32.ne (i32.load8_u offset=4 (local.get $ptr)) (i32.const 0x67)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load8_u offset=5 (local.get $ptr)) (i32.const 0x6c)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load8_u offset=6 (local.get $ptr)) (i32.const 0x61)) (then (return (i32.const 0))))
    (if (i32.ne (i32.load8_u offset=7 (local.get $ptr)) (i32.const 0x73)) (then (return (i32.const 0))))
    unreachable)
)
