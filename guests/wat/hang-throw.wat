;; Throws and catches for ever: fuel must survive the way out of a frame.
;; expect: hang
(module
  (memory (export "memory") 1)
  (tag $t)
  (func $thrower throw $t)
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (loop $again
      (block $caught
        (try_table (catch $t $caught)
          call $thrower))
      (br $again))
    i32.const 0)
)
