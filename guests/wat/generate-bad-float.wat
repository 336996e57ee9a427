;; A generator draws a float from an interval that ends at NaN.
;; expect: generator bad-draw
(module
  (import "sandglass" "draw_float" (func $float (param i32 i32 f64 f64) (result f64)))
  (memory (export "memory") 1)
  (func (export "sandglass_generate")
    (drop (call $float (i32.const 0) (i32.const 0) (f64.const 0) (f64.const nan))))
)
