;; An endless chain of tail calls: no stack grows, only fuel ends it.
;; expect: hang
(module
  (memory (export "memory") 1)
  (func $spin (param $n i32) (result i32)
    (return_call $spin (i32.add (local.get $n) (i32.const 1))))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (call $spin (local.get $len)))
)
