;; build: calls globals
(module
  (import "env" "f" (func $f (param i32)))
  (type $t (func))
  (global $least i32 (i32.const 7))
  (global $most (mut i64) (i64.const 9))
  (table funcref (elem $g))
  (func $g (param $n i32)
    (call $f (local.get $n))
    (if (local.get $n) (then (call $g (i32.const 0)))))
  (func (return_call_indirect (type $t) (i32.const 0))))
