;; build: edges
;; An unconditional way back is an arm of its own.
(module
  (func (param i32)
    block $out
      loop $l
        local.get 0
        i32.eqz
        br_if $out
        local.get 0
        i32.const 1
        i32.sub
        local.set 0
        br $l
      end
    end))
