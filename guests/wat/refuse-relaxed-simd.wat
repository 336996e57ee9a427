;; Uses a relaxed SIMD instruction, whose result depends on the machine.
;; expect: refused relaxed
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (i32x4.extract_lane 0
      (i32x4.relaxed_trunc_f32x4_s (f32x4.splat (f32.const nan)))))
)
