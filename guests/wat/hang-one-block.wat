;; An endless loop of one block: a fuel check per function entry or call would never see it.
;; expect: hang
(module
  (memory (export "memory") 1)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (loop $again
      br $again)
    i32.const 0)
)
