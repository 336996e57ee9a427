;; build: edges
;; An `if` without `else` gets one; the fuel of what follows the join is in both arms.
(module
  (func (param i32) (result i32)
    local.get 0
    if (result i32)
      i32.const 1
      i32.const 2
      i32.add
    else
      i32.const 3
    end
    local.get 0
    if
      nop
    end
    i32.const 4
    i32.mul))
