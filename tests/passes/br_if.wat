;; build: edges
;; A count for each of the two ways, with what the branch takes along.
(module
  (func (param i32) (result i32)
    block $l (result i32)
      i32.const 7
      local.get 0
      br_if $l
      drop
      i32.const 8
    end))
