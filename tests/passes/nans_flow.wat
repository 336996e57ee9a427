;; build: edges
;; `$square` hands its result to the caller, who stores it: the multiplication is canonical. The parameter of
;; `$floor` may come from arithmetic, but shows nowhere: the difference stays as it is. A negation is neither
;; here nor there: what it negates is canonical, so that both signs fit.
(module
  (memory 1)
  (global $last (mut f64) (f64.const 0))
  (func $square (param f64) (result f64)
    (local f64)
    (local.set 1 (f64.mul (local.get 0) (local.get 0)))
    (f64.neg (local.get 1)))
  (func $floor (param f64) (result i32)
    (i32.trunc_sat_f64_s (local.get 0)))
  (func (param f64 i32) (result i32)
    (f64.store (i32.const 0) (call $square (local.get 0)))
    (call $floor (f64.sub (local.get 0) (f64.const 1))))
  (func (param f64 i32)
    ;; Only the sign of the quotient shows, in a number. The sum goes around a loop into a global, which is
    ;; never read.
    (drop (f64.eq (f64.const 1) (f64.copysign (f64.const 1) (f64.div (local.get 0) (local.get 0)))))
    (local.get 0)
    (loop (param f64) (result f64)
      (f64.add (local.get 0))
      (br_if 0 (local.get 1)))
    (global.set $last)))
