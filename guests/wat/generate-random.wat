;; A generator draws as many integers as its random numbers say: the same in every run.
;; expect: valid
(module
  (import "sandglass" "draw_int" (func $int (param i32 i32 i64 i64) (result i64)))
  (import "sandglass" "emit" (func $emit (param i32 i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (local $left i32)
    (drop (call $random (i32.const 0) (i32.const 1)))
    (local.set $left (i32.load8_u (i32.const 0)))
    (block $done
      (loop $again
        (br_if $done (i32.eqz (local.get $left)))
        (drop (call $int (i32.const 0) (i32.const 0) (i64.const 0) (i64.const 9)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $again)))
    (call $emit (i32.const 0) (i32.const 1)))
)
