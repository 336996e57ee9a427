;; The functions that the dependence pass calls where labels meet. What a label is, and where things
;; lie in the memory of labels, is described in `labels.rs`; names in braces are constants from there.
(module
  (import "sandglass" "labels" (memory $labels 1))
  (import "sandglass" "shadow" (memory $shadow 1))

  ;; The set of input bytes of a label, lanes forgotten.
  (func $set (export "set") (param $a i32) (result i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then (return (i32.and (local.get $a) (i32.const 0x43ffffff)))))
    (i32.load $labels offset={ARENA}
      (i32.shl (i32.and (local.get $a) (i32.const {INDEX})) (i32.const 4))))

  ;; One range in place of two, or 0 if they do not touch or would be too long.
  (func $merge (param $a i32) (param $b i32) (result i32)
    (local $a_end i32) (local $b_end i32) (local $swap i32)
    (local.set $a_end (i32.add (i32.and (i32.shr_u (local.get $a) (i32.const {LENGTH_SHIFT})) (i32.const 0xff))
      (i32.const 1)))
    (local.set $b_end (i32.add (i32.and (i32.shr_u (local.get $b) (i32.const {LENGTH_SHIFT})) (i32.const 0xff))
      (i32.const 1)))
    (local.set $a (i32.and (local.get $a) (i32.const {BASE})))
    (local.set $b (i32.and (local.get $b) (i32.const {BASE})))
    (local.set $a_end (i32.add (local.get $a_end) (local.get $a)))
    (local.set $b_end (i32.add (local.get $b_end) (local.get $b)))
    ;; The first begins first.
    (if (i32.gt_u (local.get $a) (local.get $b))
      (then
        (local.set $swap (local.get $a))
        (local.set $a (local.get $b))
        (local.set $b (local.get $swap))
        (local.set $swap (local.get $a_end))
        (local.set $a_end (local.get $b_end))
        (local.set $b_end (local.get $swap))))
    (if (i32.gt_u (local.get $b) (local.get $a_end))
      (then (return (i32.const 0))))
    (if (i32.gt_u (local.get $b_end) (local.get $a_end))
      (then (local.set $a_end (local.get $b_end))))
    (local.set $a_end (i32.sub (i32.sub (local.get $a_end) (local.get $a)) (i32.const 1)))
    (if (i32.gt_u (local.get $a_end) (i32.const 0xff))
      (then (return (i32.const 0))))
    (i32.or (i32.or (i32.const {RANGE}) (local.get $a))
      (i32.shl (local.get $a_end) (i32.const {LENGTH_SHIFT}))))

  ;; Room for a node of so many granules, or 0 and a note that there is none.
  (func $allocate (param $granules i32) (result i32)
    (local $next i32) (local $nodes i32)
    (local.set $next (i32.load $labels offset={NEXT} (i32.const 0)))
    (local.set $nodes (i32.load $labels offset={NODES} (i32.const 0)))
    (if (i32.or
        (i32.gt_u (i32.add (local.get $next) (local.get $granules)) (i32.const {GRANULES}))
        (i32.ge_u (local.get $nodes) (i32.load $labels offset={NODES_LIMIT} (i32.const 0))))
      (then
        (i32.store $labels offset={SATURATED} (i32.const 0)
          (i32.add (i32.load $labels offset={SATURATED} (i32.const 0)) (i32.const 1)))
        (return (i32.const 0))))
    (i32.store $labels offset={NEXT} (i32.const 0) (i32.add (local.get $next) (local.get $granules)))
    (i32.store $labels offset={NODES} (i32.const 0) (i32.add (local.get $nodes) (i32.const 1)))
    (local.get $next))

  ;; The slot at which the search for something with this hash begins.
  (func $slot (param $hash i32) (result i32)
    (i32.shr_u
      (i32.mul
        (i32.xor (local.get $hash) (i32.shr_u (local.get $hash) (i32.const 15)))
        (i32.const 0x85ebca6b))
      (i32.const {SLOT_SHIFT})))

  ;; The node of two labels: the one that there is, or a new one.
  (func $pair (param $left i32) (param $right i32) (result i32)
    (local $slot i32) (local $label i32) (local $at i32)
    (local.set $slot (call $slot (i32.add
      (i32.mul (local.get $left) (i32.const 0x9e3779b1))
      (i32.mul (local.get $right) (i32.const 0xc2b2ae35)))))
    (loop $probe
      (local.set $label (i32.load $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 2))))
      (if (local.get $label)
        (then
          (if (i32.gt_s (local.get $label) (i32.const 0))
            (then
              (local.set $at (i32.shl (local.get $label) (i32.const 4)))
              (if (i32.and
                  (i32.eq (i32.load $labels offset={ARENA} (local.get $at)) (local.get $left))
                  (i32.eq (i32.load $labels offset={ARENA_4} (local.get $at)) (local.get $right)))
                (then (return (local.get $label))))))
          (local.set $slot (i32.and (i32.add (local.get $slot) (i32.const 1)) (i32.const {SLOT_MASK})))
          (br $probe))))
    (local.set $label (call $allocate (i32.const 1)))
    (if (i32.eqz (local.get $label))
      (then (return (i32.const {EVERYTHING}))))
    (local.set $at (i32.shl (local.get $label) (i32.const 4)))
    (i32.store $labels offset={ARENA} (local.get $at) (local.get $left))
    (i32.store $labels offset={ARENA_4} (local.get $at) (local.get $right))
    (i32.store $labels offset={ARENA_8} (local.get $at) (local.get $slot))
    (i32.store $labels offset={ARENA_12} (local.get $at) (i32.const 0))
    (i32.store $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 2)) (local.get $label))
    (local.get $label))

  ;; The union of two labels.
  (func $join (export "join") (param $a i32) (param $b i32) (result i32)
    (local $left i32) (local $right i32) (local $both i32)
    (local.set $a (call $set (local.get $a)))
    (local.set $b (call $set (local.get $b)))
    (if (i32.or (i32.eqz (local.get $b)) (i32.eq (local.get $a) (local.get $b)))
      (then (return (local.get $a))))
    (if (i32.eqz (local.get $a))
      (then (return (local.get $b))))
    (if (i32.or
        (i32.eq (local.get $a) (i32.const {EVERYTHING}))
        (i32.eq (local.get $b) (i32.const {EVERYTHING})))
      (then (return (i32.const {EVERYTHING}))))
    ;; Ranges are greater than nodes: the node comes first, and of two of a kind the smaller.
    (if (i32.gt_u (local.get $a) (local.get $b))
      (then
        (local.set $left (local.get $a))
        (local.set $a (local.get $b))
        (local.set $b (local.get $left))))
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then
        (local.set $both (call $merge (local.get $a) (local.get $b)))
        (if (local.get $both)
          (then (return (local.get $both))))
        (return (call $pair (local.get $a) (local.get $b)))))
    (local.set $left (i32.load $labels offset={ARENA} (i32.shl (local.get $a) (i32.const 4))))
    (local.set $right (i32.load $labels offset={ARENA_4} (i32.shl (local.get $a) (i32.const 4))))
    (if (i32.or (i32.eq (local.get $b) (local.get $left)) (i32.eq (local.get $b) (local.get $right)))
      (then (return (local.get $a))))
    (if (i32.and (local.get $b) (i32.const {RANGE}))
      (then
        ;; What is read in order grows the latest range.
        (if (i32.and (local.get $right) (i32.const {RANGE}))
          (then
            (local.set $both (call $merge (local.get $right) (local.get $b)))
            (if (i32.eq (local.get $both) (local.get $right))
              (then (return (local.get $a))))
            (if (local.get $both)
              (then (return (call $pair (local.get $left) (local.get $both)))))))
        (if (i32.and (local.get $left) (i32.const {RANGE}))
          (then
            (local.set $both (call $merge (local.get $left) (local.get $b)))
            (if (i32.eq (local.get $both) (local.get $left))
              (then (return (local.get $a))))
            (if (local.get $both)
              (then (return (call $pair (local.get $both) (local.get $right)))))))
        (return (call $pair (local.get $a) (local.get $b)))))
    ;; Two nodes: is the older part of the newer?
    (if (i32.or
        (i32.eq (i32.load $labels offset={ARENA} (i32.shl (local.get $b) (i32.const 4))) (local.get $a))
        (i32.eq (i32.load $labels offset={ARENA_4} (i32.shl (local.get $b) (i32.const 4))) (local.get $a)))
      (then (return (local.get $b))))
    (call $pair (local.get $a) (local.get $b)))

  (func $lane (param $index i32) (result i32)
    (i32.load $labels offset={LANES} (i32.shl (local.get $index) (i32.const 2))))

  (func $set_lane (param $index i32) (param $label i32)
    (i32.store $labels offset={LANES} (i32.shl (local.get $index) (i32.const 2)) (local.get $label)))

  ;; The label of a value whose bytes have the labels in the first lanes.
  (func $pack (param $count i32) (result i32)
    (local $first i32) (local $from i32) (local $i i32) (local $hash i32) (local $set i32)
    (local $slot i32) (local $label i32) (local $at i32)
    (block $found
      (loop $next
        (if (i32.eq (local.get $from) (local.get $count))
          (then (return (i32.const 0))))
        (br_if $found (local.tee $first (call $lane (local.get $from))))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $next)))
    ;; Consecutive bytes of the input, with nothing around them.
    (if (i32.eq (i32.and (local.get $first) (i32.const 0xffc00000)) (i32.const {RANGE}))
      (then
        (local.set $i (i32.add (local.get $from) (i32.const 1)))
        (block $end
          (loop $next
            (br_if $end (i32.eq (local.get $i) (local.get $count)))
            (br_if $end (i32.ne (call $lane (local.get $i))
              (i32.add (local.get $first) (i32.sub (local.get $i) (local.get $from)))))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next)))
        (local.set $label (i32.or (i32.or (local.get $first) (i32.const {IN_LANES}))
          (i32.or
            (i32.shl (local.get $from) (i32.const {POSITION_SHIFT}))
            (i32.shl (i32.sub (i32.sub (local.get $i) (local.get $from)) (i32.const 1)) (i32.const {LENGTH_SHIFT})))))
        (block $mixed
          (loop $next
            (if (i32.eq (local.get $i) (local.get $count))
              (then (return (local.get $label))))
            (br_if $mixed (call $lane (local.get $i)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next)))))
    ;; One label for all.
    (if (i32.eqz (local.get $from))
      (then
        (local.set $i (i32.const 1))
        (block $mixed
          (loop $next
            (if (i32.eq (local.get $i) (local.get $count))
              (then (return (local.get $first))))
            (br_if $mixed (i32.ne (call $lane (local.get $i)) (local.get $first)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next)))))
    (local.set $i (i32.const 0))
    (local.set $hash (local.get $count))
    (loop $next
      (local.set $hash (i32.mul
        (i32.xor (i32.rotl (local.get $hash) (i32.const 13)) (call $lane (local.get $i)))
        (i32.const 0x9e3779b1)))
      (local.set $set (call $join (local.get $set) (call $lane (local.get $i))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count))))
    (local.set $slot (call $slot (local.get $hash)))
    (loop $probe
      (local.set $label (i32.load $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 2))))
      (if (local.get $label)
        (then
          (block $other
            (br_if $other (i32.gt_s (local.get $label) (i32.const 0)))
            (local.set $at (i32.shl (i32.and (local.get $label) (i32.const {INDEX})) (i32.const 4)))
            (br_if $other (i32.ne (i32.load $labels offset={ARENA_4} (local.get $at)) (local.get $hash)))
            (br_if $other (i32.ne (i32.load $labels offset={ARENA_12} (local.get $at)) (local.get $count)))
            (local.set $i (i32.const 0))
            (loop $next
              (br_if $other (i32.ne
                (call $lane (local.get $i))
                (i32.load $labels offset={ARENA_16} (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))))
              (br_if $next (i32.lt_u
                (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                (local.get $count))))
            (return (local.get $label)))
          (local.set $slot (i32.and (i32.add (local.get $slot) (i32.const 1)) (i32.const {SLOT_MASK})))
          (br $probe))))
    (local.set $label (call $allocate
      (i32.add (i32.const 1) (i32.shr_u (i32.add (local.get $count) (i32.const 3)) (i32.const 2)))))
    (if (i32.eqz (local.get $label))
      (then (return (local.get $set))))
    (local.set $at (i32.shl (local.get $label) (i32.const 4)))
    (local.set $label (i32.or (local.get $label) (i32.const {IN_LANES})))
    (i32.store $labels offset={ARENA} (local.get $at) (local.get $set))
    (i32.store $labels offset={ARENA_4} (local.get $at) (local.get $hash))
    (i32.store $labels offset={ARENA_8} (local.get $at) (local.get $slot))
    (i32.store $labels offset={ARENA_12} (local.get $at) (local.get $count))
    (memory.copy $labels $labels
      (i32.add (local.get $at) (i32.const {ARENA_16})) (i32.const {LANES})
      (i32.shl (local.get $count) (i32.const 2)))
    (i32.store $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 2)) (local.get $label))
    (local.get $label))

  ;; Writes the labels of a value's bytes into the first lanes.
  (func $unpack (param $a i32) (param $count i32)
    (local $i i32) (local $from i32) (local $length i32) (local $label i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then
        (loop $next
          (call $set_lane (local.get $i) (local.get $a))
          (br_if $next (i32.lt_u
            (local.tee $i (i32.add (local.get $i) (i32.const 1)))
            (local.get $count))))
        (return)))
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then
        (local.set $from (i32.and (i32.shr_u (local.get $a) (i32.const {POSITION_SHIFT})) (i32.const 15)))
        (local.set $length (i32.add (i32.const 1)
          (i32.and (i32.shr_u (local.get $a) (i32.const {LENGTH_SHIFT})) (i32.const 15))))
        (local.set $label (i32.or (i32.const {RANGE}) (i32.and (local.get $a) (i32.const {BASE}))))
        (loop $next
          (call $set_lane (local.get $i)
            (select
              (i32.add (local.get $label) (i32.sub (local.get $i) (local.get $from)))
              (i32.const 0)
              (i32.lt_u (i32.sub (local.get $i) (local.get $from)) (local.get $length))))
          (br_if $next (i32.lt_u
            (local.tee $i (i32.add (local.get $i) (i32.const 1)))
            (local.get $count))))
        (return)))
    (local.set $from (i32.shl (i32.and (local.get $a) (i32.const {INDEX})) (i32.const 4)))
    (local.set $length (i32.load $labels offset={ARENA_12} (local.get $from)))
    (loop $next
      (call $set_lane (local.get $i)
        (if (result i32) (i32.lt_u (local.get $i) (local.get $length))
          (then (i32.load $labels offset={ARENA_16}
            (i32.add (local.get $from) (i32.shl (local.get $i) (i32.const 2)))))
          (else (i32.const 0))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count)))))

  ;; The label of `count` bytes of memory; `at` is an address in the shadow.
  (func (export "load") (param $at i32) (param $count i32) (result i32)
    (memory.copy $labels $shadow
      (i32.const {LANES}) (local.get $at) (i32.shl (local.get $count) (i32.const 2)))
    (call $pack (local.get $count)))

  ;; Gives `count` bytes of memory their labels.
  (func (export "store") (param $at i32) (param $a i32) (param $count i32)
    (call $unpack (local.get $a) (local.get $count))
    (memory.copy $shadow $labels
      (local.get $at) (i32.const {LANES}) (i32.shl (local.get $count) (i32.const 2))))

  ;; Gives `count` bytes of memory one label.
  (func (export "fill") (param $at i32) (param $a i32) (param $count i32)
    (local.set $a (call $byte (local.get $a)))
    (loop $next
      (if (local.get $count)
        (then
          (i32.store $shadow (local.get $at) (local.get $a))
          (local.set $at (i32.add (local.get $at) (i32.const 4)))
          (local.set $count (i32.sub (local.get $count) (i32.const 1)))
          (br $next)))))

  ;; The label of the lowest byte.
  (func $byte (export "byte") (param $a i32) (result i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (call $unpack (local.get $a) (i32.const 1))
    (call $lane (i32.const 0)))

  ;; Of `count` bytes those whose bit is set in `mask`; the others are constant.
  (func (export "mask") (param $a i32) (param $mask i32) (param $count i32) (result i32)
    (local $i i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (call $unpack (local.get $a) (local.get $count))
    (loop $next
      (if (i32.eqz (i32.and (i32.const 1) (i32.shr_u (local.get $mask) (local.get $i))))
        (then (call $set_lane (local.get $i) (i32.const 0))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count))))
    (call $pack (local.get $count)))

  ;; `count` bytes moved up by so many, zeros below.
  (func (export "shift_up") (param $a i32) (param $by i32) (param $count i32) (result i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (call $unpack (local.get $a) (local.get $count))
    (memory.copy $labels $labels
      (i32.add (i32.const {LANES}) (i32.shl (local.get $by) (i32.const 2))) (i32.const {LANES})
      (i32.shl (i32.sub (local.get $count) (local.get $by)) (i32.const 2)))
    (memory.fill $labels (i32.const {LANES}) (i32.const 0) (i32.shl (local.get $by) (i32.const 2)))
    (call $pack (local.get $count)))

  ;; `count` bytes moved down by so many, zeros above.
  (func (export "shift_down") (param $a i32) (param $by i32) (param $count i32) (result i32)
    (local $left i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (call $unpack (local.get $a) (local.get $count))
    (local.set $left (i32.shl (i32.sub (local.get $count) (local.get $by)) (i32.const 2)))
    (memory.copy $labels $labels
      (i32.const {LANES}) (i32.add (i32.const {LANES}) (i32.shl (local.get $by) (i32.const 2)))
      (local.get $left))
    (memory.fill $labels (i32.add (i32.const {LANES}) (local.get $left)) (i32.const 0)
      (i32.shl (local.get $by) (i32.const 2)))
    (call $pack (local.get $count)))

  ;; `count` bytes moved up by so many, the uppermost to the bottom.
  (func (export "rotate_up") (param $a i32) (param $by i32) (param $count i32) (result i32)
    (local $bytes i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (call $unpack (local.get $a) (local.get $count))
    (local.set $bytes (i32.shl (local.get $count) (i32.const 2)))
    (local.set $by (i32.shl (local.get $by) (i32.const 2)))
    (memory.copy $labels $labels (i32.const {OTHER_LANES}) (i32.const {LANES}) (local.get $bytes))
    (memory.copy $labels $labels
      (i32.add (i32.const {LANES}) (local.get $by)) (i32.const {OTHER_LANES})
      (i32.sub (local.get $bytes) (local.get $by)))
    (memory.copy $labels $labels
      (i32.const {LANES}) (i32.add (i32.const {OTHER_LANES}) (i32.sub (local.get $bytes) (local.get $by)))
      (local.get $by))
    (call $pack (local.get $count)))

  ;; `count` bytes, of which those from `from` on repeat the sign of the one below.
  (func (export "extend") (param $a i32) (param $from i32) (param $count i32) (result i32)
    (local $sign i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (call $unpack (local.get $a) (local.get $from))
    (local.set $sign (call $lane (i32.sub (local.get $from) (i32.const 1))))
    (loop $next
      (call $set_lane (local.get $from) (local.get $sign))
      (br_if $next (i32.lt_u
        (local.tee $from (i32.add (local.get $from) (i32.const 1)))
        (local.get $count))))
    (call $pack (local.get $count)))

  ;; `count` bytes, each computed of the two at its place.
  (func (export "bitwise") (param $a i32) (param $b i32) (param $count i32) (result i32)
    (local $i i32)
    (if (i32.or (i32.eqz (local.get $b)) (i32.eq (local.get $a) (local.get $b)))
      (then (return (local.get $a))))
    (if (i32.eqz (local.get $a))
      (then (return (local.get $b))))
    (if (i32.ge_s (i32.and (local.get $a) (local.get $b)) (i32.const 0))
      (then (return (call $join (local.get $a) (local.get $b)))))
    (call $unpack (local.get $a) (local.get $count))
    (memory.copy $labels $labels
      (i32.const {OTHER_LANES}) (i32.const {LANES}) (i32.shl (local.get $count) (i32.const 2)))
    (call $unpack (local.get $b) (local.get $count))
    (loop $next
      (call $set_lane (local.get $i) (call $join
        (i32.load $labels offset={OTHER_LANES} (i32.shl (local.get $i) (i32.const 2)))
        (call $lane (local.get $i))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count))))
    (call $pack (local.get $count)))

  ;; Records what an operator was given; `counter` is the address of its counter.
  (func $event (export "event")
    (param $counter i32) (param $outcome i32) (param $left i64) (param $right i64) (param $a i32) (param $b i32)
    (local $count i32) (local $events i32) (local $at i32)
    (i32.store $labels (local.get $counter)
      (local.tee $count (i32.add (i32.load $labels (local.get $counter)) (i32.const 1))))
    (local.set $events (i32.load $labels offset={EVENTS} (i32.const 0)))
    (if (i32.or
        (i32.gt_u (local.get $count) (i32.load $labels offset={SITE_EVENTS_MAX} (i32.const 0)))
        (i32.ge_u (local.get $events) (i32.const {EVENTS_MAX})))
      (then
        (i32.store $labels offset={DROPPED} (i32.const 0)
          (i32.add (i32.load $labels offset={DROPPED} (i32.const 0)) (i32.const 1)))
        (return)))
    (i32.store $labels offset={EVENTS} (i32.const 0) (i32.add (local.get $events) (i32.const 1)))
    (local.set $at (i32.shl (local.get $events) (i32.const 5)))
    (i32.store $labels offset={EVENT_LIST} (local.get $at) (local.get $counter))
    (i32.store $labels offset={EVENT_LIST_4} (local.get $at) (local.get $outcome))
    (i64.store $labels offset={EVENT_LIST_8} (local.get $at) (local.get $left))
    (i64.store $labels offset={EVENT_LIST_16} (local.get $at) (local.get $right))
    (i32.store $labels offset={EVENT_LIST_24} (local.get $at) (local.get $a))
    (i32.store $labels offset={EVENT_LIST_28} (local.get $at) (local.get $b)))

  ;; Records an address with a label, and returns the label of what was loaded from there: its own,
  ;; and that of the address if it lies in `low .. low + size`, where the module's data is.
  (func (export "index")
    (param $counter i32) (param $address i32) (param $a i32) (param $loaded i32)
    (param $low i32) (param $size i32) (result i32)
    (call $event (local.get $counter) (i32.const 0) (i64.extend_i32_u (local.get $address)) (i64.const 0)
      (local.get $a) (i32.const 0))
    (if (i32.lt_u (i32.sub (local.get $address) (local.get $low)) (local.get $size))
      (then (return (call $join (local.get $loaded) (local.get $a)))))
    (local.get $loaded))
)
