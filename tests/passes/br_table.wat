;; build: edges
;; One counter for each slot, reached by the smaller of the index and the number of slots.
(module
  (func (param i32) (result i32)
    block $a
      block $b
        block $d
          local.get 0
          br_table $a $b $a $d
        end
        i32.const 1
        return
      end
      i32.const 2
      return
    end
    i32.const 3))
