;; build: edges
;; A loop that calls: the budget stays in the global.
(module
  (func $f (result i32)
    i32.const 0)
  (func
    loop $noisy
      call $f
      br_if $noisy
    end))
