;; A loop of large bulk writes: each must be charged by its size, or the limit is met far too late.
;; expect: hang
(module
  (memory (export "memory") 16)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (loop $again
      (memory.fill (i32.const 65536) (local.get $len) (i32.const 900000))
      (br $again))
    i32.const 0)
)
