;; build: edges
;; Lanes are checked together. A product of four floats shows when two of them are taken for one.
(module
  (memory 1)
  (func (param v128)
    (v128.store (i32.const 0) (f32x4.add (local.get 0) (local.get 0))))
  (func (param v128) (result i32)
    (i64x2.extract_lane 0 (f64x2.sqrt (local.get 0)))
    (i32.wrap_i64))
  (func (param v128) (result i32)
    (f64.gt (f64x2.extract_lane 0 (f32x4.mul (local.get 0) (local.get 0))) (f64.const 1)))
  (func (param v128) (result i32)
    (f32.gt (f32x4.extract_lane 0 (f32x4.mul (local.get 0) (local.get 0))) (f32.const 1))))
