;; build: profile
(module
  (import "env" "f" (func $f))
  (type $t (func))
  (memory 1)
  (table funcref (elem $g))
  (func $g (param $n i32)
    (block $a (block $b (br_table $a $b (local.get $n))))
    (call $f)
    (memory.fill (i32.const 0) (i32.const 1) (local.get $n))
    (if (local.get $n) (then (call $g (i32.const 0)))))
  (func (return_call_indirect (type $t) (i32.const 0))))
