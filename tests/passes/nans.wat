;; build: edges
;; The first sum is stored: canonical. The second only feeds comparisons and further arithmetic. What is
;; loaded and stored again keeps its bits.
(module
  (memory 1)
  (func (param f64 f64) (result i32)
    (f64.store (i32.const 0) (f64.add (local.get 0) (local.get 1)))
    (f64.store (i32.const 8) (f64.load (i32.const 16)))
    (f64.lt (f64.mul (local.get 0) (local.get 1)) (f64.const 1)))
  (func (param f32) (result i32)
    (i32.reinterpret_f32 (f32.sqrt (local.get 0)))))
