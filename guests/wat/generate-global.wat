;; A generator counts its runs in a global: each run is the first. Traps in a second one.
;; expect: valid
(module
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (memory (export "memory") 1)
  (global $runs (mut i32) (i32.const 0))
  (func (export "sandglass_generate")
    (global.set $runs (i32.add (global.get $runs) (i32.const 1)))
    (if (i32.ne (global.get $runs) (i32.const 1)) (then unreachable))
    (call $emit (i32.const 0) (i32.const 1)))
)
