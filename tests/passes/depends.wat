;; build: plain dependence
;; Labels beside values: of arguments, loads, unions, comparisons; constants have none.
(module
  (memory 1)
  (func $sum (export "sum") (param $p i32) (result i32)
    (i32.add (i32.load8_u (local.get $p)) (i32.load (i32.const 8))))
  (func (export "run") (result i32)
    (if (i32.lt_u (call $sum (i32.const 4)) (i32.const 9))
      (then (i32.store (i32.const 16) (call $sum (i32.const 5)))))
    (i32.const 0))
)
