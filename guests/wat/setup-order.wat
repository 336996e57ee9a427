;; Set-up runs once, in the order _initialize, LLVMFuzzerInitialize, sandglass_setup; anything else returns 7.
;; expect: valid
(module
  (memory (export "memory") 1)
  (global $steps (mut i32) (i32.const 0))
  (func $step (param $n i32)
    (global.set $steps (i32.add (i32.mul (global.get $steps) (i32.const 10)) (local.get $n))))
  (func (export "_initialize") (call $step (i32.const 1)))
  (func (export "LLVMFuzzerInitialize") (param i32 i32) (result i32)
    (call $step (i32.const 2))
    i32.const 0)
  (func (export "sandglass_setup") (call $step (i32.const 3)))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (select (i32.const 0) (i32.const 7) (i32.eq (global.get $steps) (i32.const 123))))
)
