;; A target that is given bytes draws, and there is nobody to answer.
;; expect: bad-draw
(module
  (import "sandglass" "draw_bool" (func $bool (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $bool (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 2)))
)
