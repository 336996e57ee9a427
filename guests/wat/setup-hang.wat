;; Never comes back from sandglass_setup.
;; expect: setup hang
(module
  (memory (export "memory") 1)
  (func (export "sandglass_setup") (loop $again br $again))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    i32.const 0)
)
