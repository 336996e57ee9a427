;; build: edges
;; A recursive function counts its depth; returns, and branches to its own label, leave through one end.
(module
  (func $f (param i32) (result i32)
    local.get 0
    i32.eqz
    if
      i32.const 1
      return
    end
    i32.const 2
    local.get 0
    i32.const 5
    i32.gt_u
    br_if 0
    drop
    local.get 0
    i32.const 1
    i32.sub
    call $f)
  (func $flat (result i32)
    i32.const 3
    call $f))
