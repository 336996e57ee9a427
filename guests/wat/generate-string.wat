;; A generator asks for strings of the target's: there is none unless the guidance has a table. Emits what it got, or `-`.
;; expect: valid
(module
  (import "sandglass" "draw_string" (func $string (param i32 i32 i32 i32) (result i32)))
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "-\0a")
  (func $one
    (local $n i32)
    (local.set $n (call $string (i32.const 1) (i32.const 2) (i32.const 65536) (i32.const 0)))
    (local.set $n (call $string (i32.const 2) (i32.const 2) (i32.const 65520) (i32.const 16)))
    (if (i32.gt_s (local.get $n) (i32.const 16)) (then unreachable))
    (if (i32.lt_s (local.get $n) (i32.const 0))
      (then (call $emit (i32.const 0) (i32.const 1)))
      (else (call $emit (i32.const 65520) (local.get $n))))
    (call $emit (i32.const 1) (i32.const 1)))
  (func (export "sandglass_generate") (call $one) (call $one))
)
