;; Two random words and two clock readings: the first differ, the second never go back; all are the same in
;; every run.
;; expect: valid
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (drop (call $random (i32.const 64) (i32.const 8)))
    (drop (call $random (i32.const 72) (i32.const 8)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 80)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 88)))
    (if (i64.eq (i64.load (i32.const 64)) (i64.load (i32.const 72))) (then (return (i32.const 7))))
    (if (i64.gt_u (i64.load (i32.const 80)) (i64.load (i32.const 88))) (then (return (i32.const 7))))
    i32.const 0)
)
