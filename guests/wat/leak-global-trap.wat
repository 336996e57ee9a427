;; Changes a global and traps: the state must be restored after a trap too. The second run returns 7 when it
;; was not.
;; expect: trap unreachable
(module
  (memory (export "memory") 1)
  (global $n (mut i32) (i32.const 0))
  (func (export "LLVMFuzzerTestOneInput") (param $ptr i32) (param $len i32) (result i32)
    (if (global.get $n) (then (return (i32.const 7))))
    (global.set $n (i32.const 1))
    (i32.store (i32.const 4096) (i32.const 1))
    unreachable)
)
