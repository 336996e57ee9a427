;; A NaN has no integer value.
;; expect: trap bad-conversion
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    f64.const nan
    i32.trunc_f64_s)
)
