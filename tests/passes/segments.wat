;; build: edges
;; Fuel runs from one decision to the next, across joins: the entry of this function weighs what runs up to
;; its first `br_if`, and each arm what runs from there to the end of the function.
(module
  (func (param i32) (result i32)
    block $out
      i32.const 1
      drop
      block $skip
        local.get 0
        br_if $skip
        i32.const 2
        drop
        br $out
      end
      i32.const 3
      drop
      i32.const 4
      drop
    end
    local.get 0
    i32.const 5
    i32.mul))
