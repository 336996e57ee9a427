;; The functions that the dependence pass calls where labels meet. What a label is, and where things
;; lie in the memory of labels, is described in `labels.rs`; names in braces are constants from there.
(module
  (import "sandglass" "labels" (memory $labels 1))
  (import "sandglass" "shadow" (memory $shadow 1))
  (import "sandglass" "touched" (memory $touched 1))

  ;; Notes that labels were written to so many bytes of the shadow, at least one.
  (func $touch (export "touch") (param $at i32) (param $bytes i32)
    (local $block i32) (local $last i32)
    (local.set $block (i32.shr_u (local.get $at) (i32.const {TOUCHED_SHIFT})))
    (local.set $last (i32.shr_u
      (i32.sub (i32.add (local.get $at) (local.get $bytes)) (i32.const 1))
      (i32.const {TOUCHED_SHIFT})))
    (loop $next
      (i32.store8 $touched (local.get $block) (i32.const 1))
      (br_if $next (i32.le_u
        (local.tee $block (i32.add (local.get $block) (i32.const 1)))
        (local.get $last)))))

  ;; The set of input bytes of a label, lanes forgotten.
  (func $set (export "set") (param $a i32) (result i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then (return (i32.and (local.get $a) (i32.const 0x43ffffff)))))
    (i32.load $labels offset={ARENA}
      (i32.shl (i32.and (local.get $a) (i32.const {INDEX})) (i32.const 3))))

  ;; Where a range begins.
  (func $base (param $a i32) (result i32)
    (i32.and (local.get $a)
      (select (i32.const {BASE}) (i32.const {LONG_BASE}) (i32.and (local.get $a) (i32.const {RANGE})))))

  ;; Its bytes, less one.
  (func $length (param $a i32) (result i32)
    (if (result i32) (i32.and (local.get $a) (i32.const {RANGE}))
      (then (i32.and (i32.shr_u (local.get $a) (i32.const {LENGTH_SHIFT})) (i32.const 0xff)))
      (else (i32.and (i32.shr_u (local.get $a) (i32.const {LONG_SHIFT})) (i32.const {LONG_BASE})))))

  ;; One range in place of two, or 0 if they do not touch or would be too long.
  (func $merge (param $a i32) (param $b i32) (result i32)
    (local $a_end i32) (local $b_end i32) (local $swap i32)
    (local.set $a_end (i32.add (call $length (local.get $a)) (i32.const 1)))
    (local.set $b_end (i32.add (call $length (local.get $b)) (i32.const 1)))
    (local.set $a (call $base (local.get $a)))
    (local.set $b (call $base (local.get $b)))
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
    (local.set $b_end (i32.sub (i32.sub (local.get $a_end) (local.get $a)) (i32.const 1)))
    (if (i32.le_u (local.get $b_end) (i32.const 0xff))
      (then (return (i32.or (i32.or (i32.const {RANGE}) (local.get $a))
        (i32.shl (local.get $b_end) (i32.const {LENGTH_SHIFT}))))))
    (if (i32.gt_u (local.get $a_end) (i32.const {LONG_BASE}))
      (then (return (i32.const 0))))
    (i32.or (i32.or (i32.const {LONG}) (local.get $a))
      (i32.shl (local.get $b_end) (i32.const {LONG_SHIFT}))))

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
      (i32.load $labels offset={SLOTS_SHIFT} (i32.const 0))))

  (func $pair_hash (param $left i32) (param $right i32) (result i32)
    (i32.add
      (i32.mul (local.get $left) (i32.const 0x9e3779b1))
      (i32.mul (local.get $right) (i32.const 0xc2b2ae35))))

  ;; The hash of labels that lie one after the other.
  (func $lanes_hash (param $at i32) (param $count i32) (result i32)
    (local $hash i32)
    (local.set $hash (local.get $count))
    (loop $next
      (local.set $hash (i32.mul
        (i32.xor (i32.rotl (local.get $hash) (i32.const 13)) (i32.load $labels (local.get $at)))
        (i32.const 0x9e3779b1)))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (local.get $hash))

  ;; The slot after this one.
  (func $after (param $slot i32) (result i32)
    (i32.and
      (i32.add (local.get $slot) (i32.const 1))
      (i32.shr_u (i32.const -1) (i32.load $labels offset={SLOTS_SHIFT} (i32.const 0)))))

  ;; The number of the node in a slot, 0 in a free one.
  (func $node (param $slot i32) (result i32)
    (if (result i32) (i32.eq (i32.load $labels offset={SLOT_SHIFT} (i32.const 0)) (i32.const 1))
      (then (i32.load16_u $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 1))))
      (else (i32.load $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 2))))))

  (func $set_node (param $slot i32) (param $node i32)
    (if (i32.eq (i32.load $labels offset={SLOT_SHIFT} (i32.const 0)) (i32.const 1))
      (then (i32.store16 $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 1)) (local.get $node)))
      (else (i32.store $labels offset={SLOTS} (i32.shl (local.get $slot) (i32.const 2)) (local.get $node)))))

  ;; Gives a new node its slot. There are more and larger ones as soon as seven of eight are taken, or a
  ;; number does not fit.
  (func $enter (param $slot i32) (param $node i32)
    (local $shift i32)
    (local.set $shift (i32.load $labels offset={SLOTS_SHIFT} (i32.const 0)))
    (if (i32.and
        (i32.eq (i32.load $labels offset={SLOT_SHIFT} (i32.const 0)) (i32.const 1))
        (i32.gt_u (local.get $node) (i32.const 0xffff)))
      (then
        (i32.store $labels offset={SLOT_SHIFT} (i32.const 0) (i32.const 2))
        (return (call $enter_all))))
    (if (i32.and
        (i32.gt_u
          (i32.mul (i32.load $labels offset={NODES} (i32.const 0)) (i32.const 8))
          (i32.mul (i32.shr_u (i32.const -1) (local.get $shift)) (i32.const 7)))
        (i32.ne (local.get $shift) (i32.const {SLOTS_SHIFT_LEAST})))
      (then
        (i32.store $labels offset={SLOTS_SHIFT} (i32.const 0) (i32.sub (local.get $shift) (i32.const 1)))
        (return (call $enter_all))))
    (call $set_node (local.get $slot) (local.get $node)))

  ;; Gives all nodes their slots.
  (func $enter_all
    (local $node i32) (local $at i32) (local $second i32) (local $slot i32) (local $granules i32)
    (memory.fill $labels (i32.const {SLOTS}) (i32.const 0)
      (i32.shl
        (i32.add (i32.shr_u (i32.const -1) (i32.load $labels offset={SLOTS_SHIFT} (i32.const 0))) (i32.const 1))
        (i32.load $labels offset={SLOT_SHIFT} (i32.const 0))))
    (local.set $node (i32.const {FIRST_GRANULE}))
    (loop $next
      (local.set $at (i32.shl (local.get $node) (i32.const 3)))
      (local.set $second (i32.load $labels offset={ARENA_4} (local.get $at)))
      (local.set $granules (i32.const 1))
      (if (i32.lt_s (local.get $second) (i32.const 0))
        (then
          (local.set $second (i32.and (local.get $second) (i32.const 0xff)))
          (local.set $granules (i32.add (i32.const 1)
            (i32.shr_u (i32.add (local.get $second) (i32.const 1)) (i32.const 1))))
          (local.set $slot (call $slot
            (call $lanes_hash (i32.add (local.get $at) (i32.const {ARENA_8})) (local.get $second)))))
        (else
          (local.set $slot (call $slot
            (call $pair_hash (i32.load $labels offset={ARENA} (local.get $at)) (local.get $second))))))
      (loop $probe
        (if (call $node (local.get $slot))
          (then
            (local.set $slot (call $after (local.get $slot)))
            (br $probe))))
      (call $set_node (local.get $slot) (local.get $node))
      (br_if $next (i32.lt_u
        (local.tee $node (i32.add (local.get $node) (local.get $granules)))
        (i32.load $labels offset={NEXT} (i32.const 0))))))

  ;; The node of two labels: the one that there is, or a new one. What `slot`, `node` and `after` do is
  ;; written out: joins mostly come by here.
  (func $pair (param $left i32) (param $right i32) (result i32)
    (local $slot i32) (local $label i32) (local $at i32)
    (local $slots_shift i32) (local $slot_shift i32) (local $mask i32)
    (local.set $slots_shift (i32.load $labels offset={SLOTS_SHIFT} (i32.const 0)))
    (local.set $slot_shift (i32.load $labels offset={SLOT_SHIFT} (i32.const 0)))
    ;; The bits of a slot in the four bytes that are read.
    (local.set $mask (i32.shr_u (i32.const -1)
      (i32.sub (i32.const 32) (i32.shl (i32.const 8) (local.get $slot_shift)))))
    (local.set $slot (i32.add
      (i32.mul (local.get $left) (i32.const 0x9e3779b1))
      (i32.mul (local.get $right) (i32.const 0xc2b2ae35))))
    (local.set $slot (i32.shr_u
      (i32.mul
        (i32.xor (local.get $slot) (i32.shr_u (local.get $slot) (i32.const 15)))
        (i32.const 0x85ebca6b))
      (local.get $slots_shift)))
    (loop $probe
      (local.set $label (i32.and (local.get $mask)
        (i32.load $labels offset={SLOTS} (i32.shl (local.get $slot) (local.get $slot_shift)))))
      (if (local.get $label)
        (then
          (local.set $at (i32.shl (local.get $label) (i32.const 3)))
          (if (i32.and
              (i32.eq (i32.load $labels offset={ARENA} (local.get $at)) (local.get $left))
              (i32.eq (i32.load $labels offset={ARENA_4} (local.get $at)) (local.get $right)))
            (then (return (local.get $label))))
          (local.set $slot (i32.and
            (i32.add (local.get $slot) (i32.const 1))
            (i32.shr_u (i32.const -1) (local.get $slots_shift))))
          (br $probe))))
    (local.set $label (call $allocate (i32.const 1)))
    (if (i32.eqz (local.get $label))
      (then (return (i32.const {EVERYTHING}))))
    (local.set $at (i32.shl (local.get $label) (i32.const 3)))
    (i32.store $labels offset={ARENA} (local.get $at) (local.get $left))
    (i32.store $labels offset={ARENA_4} (local.get $at) (local.get $right))
    (call $enter (local.get $slot) (local.get $label))
    (local.get $label))

  ;; The union of two labels.
  (func $join (export "join") (param $a i32) (param $b i32) (result i32)
    (local $left i32) (local $right i32) (local $both i32) (local $a_last i32) (local $b_last i32)
    (if (i32.lt_s (local.get $a) (i32.const 0))
      (then (local.set $a (call $set (local.get $a)))))
    (if (i32.lt_s (local.get $b) (i32.const 0))
      (then (local.set $b (call $set (local.get $b)))))
    (if (i32.or (i32.eqz (local.get $b)) (i32.eq (local.get $a) (local.get $b)))
      (then (return (local.get $a))))
    (if (i32.eqz (local.get $a))
      (then (return (local.get $b))))
    ;; Two ranges that touch are one, mostly a short one.
    (if (i32.and (i32.and (local.get $a) (local.get $b)) (i32.const {RANGE}))
      (then
        (local.set $left (i32.and (local.get $a) (i32.const {BASE})))
        (local.set $right (i32.and (local.get $b) (i32.const {BASE})))
        (local.set $a_last (i32.add (local.get $left)
          (i32.and (i32.shr_u (local.get $a) (i32.const {LENGTH_SHIFT})) (i32.const 0xff))))
        (local.set $b_last (i32.add (local.get $right)
          (i32.and (i32.shr_u (local.get $b) (i32.const {LENGTH_SHIFT})) (i32.const 0xff))))
        (if (i32.and
            (i32.le_u (local.get $left) (i32.add (local.get $b_last) (i32.const 1)))
            (i32.le_u (local.get $right) (i32.add (local.get $a_last) (i32.const 1))))
          (then
            (local.set $left (select (local.get $left) (local.get $right)
              (i32.lt_u (local.get $left) (local.get $right))))
            (local.set $both (i32.sub
              (select (local.get $a_last) (local.get $b_last)
                (i32.gt_u (local.get $a_last) (local.get $b_last)))
              (local.get $left)))
            (if (i32.le_u (local.get $both) (i32.const 0xff))
              (then (return (i32.or
                (i32.or (i32.const {RANGE}) (local.get $left))
                (i32.shl (local.get $both) (i32.const {LENGTH_SHIFT}))))))))))
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
    (if (i32.ge_u (local.get $a) (i32.const {LONG}))
      (then
        (local.set $both (call $merge (local.get $a) (local.get $b)))
        (if (local.get $both)
          (then (return (local.get $both))))
        (return (call $pair (local.get $a) (local.get $b)))))
    (local.set $left (i32.load $labels offset={ARENA} (i32.shl (local.get $a) (i32.const 3))))
    (local.set $right (i32.load $labels offset={ARENA_4} (i32.shl (local.get $a) (i32.const 3))))
    (if (i32.or (i32.eq (local.get $b) (local.get $left)) (i32.eq (local.get $b) (local.get $right)))
      (then (return (local.get $a))))
    (if (i32.ge_u (local.get $b) (i32.const {LONG}))
      (then
        ;; What is read in order grows the latest range.
        (if (i32.ge_u (local.get $right) (i32.const {LONG}))
          (then
            (local.set $both (call $merge (local.get $right) (local.get $b)))
            (if (i32.eq (local.get $both) (local.get $right))
              (then (return (local.get $a))))
            (if (local.get $both)
              (then (return (call $pair (local.get $left) (local.get $both)))))))
        (if (i32.ge_u (local.get $left) (i32.const {LONG}))
          (then
            (local.set $both (call $merge (local.get $left) (local.get $b)))
            (if (i32.eq (local.get $both) (local.get $left))
              (then (return (local.get $a))))
            (if (local.get $both)
              (then (return (call $pair (local.get $both) (local.get $right)))))))
        (return (call $pair (local.get $a) (local.get $b)))))
    ;; Two nodes: is the older part of the newer?
    (if (i32.or
        (i32.eq (i32.load $labels offset={ARENA} (i32.shl (local.get $b) (i32.const 3))) (local.get $a))
        (i32.eq (i32.load $labels offset={ARENA_4} (i32.shl (local.get $b) (i32.const 3))) (local.get $a)))
      (then (return (local.get $b))))
    (call $pair (local.get $a) (local.get $b)))

  ;; The label of a value whose bytes have the labels in the first lanes.
  (func $pack (param $count i32) (result i32)
    (local $first i32) (local $from i32) (local $i i32) (local $set i32)
    (local $slot i32) (local $label i32) (local $at i32)
    (block $found
      (loop $next
        (if (i32.eq (local.get $from) (local.get $count))
          (then (return (i32.const 0))))
        (br_if $found (local.tee $first (i32.load $labels offset={LANES} (i32.shl (local.get $from) (i32.const 2)))))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $next)))
    ;; Consecutive bytes of the input, with nothing around them.
    (if (i32.eq (i32.and (local.get $first) (i32.const 0xffc00000)) (i32.const {RANGE}))
      (then
        (local.set $i (i32.add (local.get $from) (i32.const 1)))
        (block $end
          (loop $next
            (br_if $end (i32.eq (local.get $i) (local.get $count)))
            (br_if $end (i32.ne (i32.load $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2)))
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
            (br_if $mixed (i32.load $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2))))
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
            (br_if $mixed (i32.ne (i32.load $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2))) (local.get $first)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br $next)))))
    (local.set $i (i32.const 0))
    (loop $next
      (local.set $set (call $join (local.get $set) (i32.load $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2)))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count))))
    (local.set $slot (call $slot (call $lanes_hash (i32.const {LANES}) (local.get $count))))
    (loop $probe
      (local.set $label (call $node (local.get $slot)))
      (if (local.get $label)
        (then
          (block $other
            (local.set $at (i32.shl (local.get $label) (i32.const 3)))
            (br_if $other (i32.ne
              (i32.load $labels offset={ARENA_4} (local.get $at))
              (i32.or (local.get $count) (i32.const {IN_LANES}))))
            (local.set $i (i32.const 0))
            (loop $next
              (br_if $other (i32.ne
                (i32.load $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2)))
                (i32.load $labels offset={ARENA_8} (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))))
              (br_if $next (i32.lt_u
                (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                (local.get $count))))
            (return (i32.or (local.get $label) (i32.const {IN_LANES}))))
          (local.set $slot (call $after (local.get $slot)))
          (br $probe))))
    (local.set $label (call $allocate
      (i32.add (i32.const 1) (i32.shr_u (i32.add (local.get $count) (i32.const 1)) (i32.const 1)))))
    (if (i32.eqz (local.get $label))
      (then (return (local.get $set))))
    (local.set $at (i32.shl (local.get $label) (i32.const 3)))
    (i32.store $labels offset={ARENA} (local.get $at) (local.get $set))
    (i32.store $labels offset={ARENA_4} (local.get $at) (i32.or (local.get $count) (i32.const {IN_LANES})))
    (memory.copy $labels $labels
      (i32.add (local.get $at) (i32.const {ARENA_8})) (i32.const {LANES})
      (i32.shl (local.get $count) (i32.const 2)))
    (call $enter (local.get $slot) (local.get $label))
    (i32.or (local.get $label) (i32.const {IN_LANES})))

  ;; Four labels of a value that is input bytes as they are: those of its bytes from `first` on.
  (func $four (param $a i32) (param $first i32) (result v128)
    (local $n v128)
    ;; Which byte of the copied ones each of them is.
    (local.set $n (i32x4.add
      (v128.const i32x4 0 1 2 3)
      (i32x4.splat (i32.sub (local.get $first)
        (i32.and (i32.shr_u (local.get $a) (i32.const {POSITION_SHIFT})) (i32.const 15))))))
    (v128.and
      (i32x4.add (local.get $n)
        (i32x4.splat (i32.or (i32.const {RANGE}) (i32.and (local.get $a) (i32.const {BASE})))))
      (i32x4.le_u (local.get $n)
        (i32x4.splat (i32.and (i32.shr_u (local.get $a) (i32.const {LENGTH_SHIFT})) (i32.const 15))))))

  ;; Writes the labels of a value's bytes into the first lanes; what lies in those above `count` is not said.
  (func $unpack (param $a i32) (param $count i32)
    (local $i i32) (local $from i32) (local $length i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then
        (loop $next
          (v128.store $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2)) (i32x4.splat (local.get $a)))
          (br_if $next (i32.lt_u
            (local.tee $i (i32.add (local.get $i) (i32.const 4)))
            (local.get $count))))
        (return)))
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then
        (loop $next
          (v128.store $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2))
            (call $four (local.get $a) (local.get $i)))
          (br_if $next (i32.lt_u
            (local.tee $i (i32.add (local.get $i) (i32.const 4)))
            (local.get $count))))
        (return)))
    (local.set $from (i32.shl (i32.and (local.get $a) (i32.const {INDEX})) (i32.const 3)))
    (local.set $length (i32.and (i32.load $labels offset={ARENA_4} (local.get $from)) (i32.const 0xff)))
    (loop $next
      (i32.store $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2))
        (if (result i32) (i32.lt_u (local.get $i) (local.get $length))
          (then (i32.load $labels offset={ARENA_8}
            (i32.add (local.get $from) (i32.shl (local.get $i) (i32.const 2)))))
          (else (i32.const 0))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count)))))

  ;; The label of `count` bytes of memory; `at` is an address in the shadow.
  (func (export "load") (param $at i32) (param $count i32) (result i32)
    (local $i i32) (local $first i32)
    (if (i32.eq (local.get $count) (i32.const 2))
      (then
        (i64.store $labels offset={LANES} (i32.const 0) (i64.load $shadow (local.get $at)))
        (return (call $pack (local.get $count)))))
    (local.set $first (i32.load $shadow (local.get $at)))
    ;; Bytes of the input, one after the other?
    (if (i32.eq (i32.and (local.get $first) (i32.const 0xffc00000)) (i32.const {RANGE}))
      (then
        (block $differs
          (loop $next
            (br_if $differs (v128.any_true (v128.xor
              (v128.load $shadow (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))
              (i32x4.add
                (i32x4.splat (i32.add (local.get $first) (local.get $i)))
                (v128.const i32x4 0 1 2 3)))))
            (br_if $next (i32.lt_u
              (local.tee $i (i32.add (local.get $i) (i32.const 4)))
              (local.get $count))))
          (return (i32.or
            (i32.or (local.get $first) (i32.const {IN_LANES}))
            (i32.shl (i32.sub (local.get $count) (i32.const 1)) (i32.const {LENGTH_SHIFT})))))))
    ;; One label for all?
    (local.set $i (i32.const 0))
    (block $differs
      (loop $next
        (br_if $differs (v128.any_true (v128.xor
          (v128.load $shadow (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))
          (i32x4.splat (local.get $first)))))
        (br_if $next (i32.lt_u
          (local.tee $i (i32.add (local.get $i) (i32.const 4)))
          (local.get $count))))
      (return (local.get $first)))
    (local.set $i (i32.const 0))
    (loop $next
      (v128.store $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2))
        (v128.load $shadow (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 4)))
        (local.get $count))))
    (call $pack (local.get $count)))

  ;; Gives `count` bytes of memory their labels.
  (func (export "store") (param $at i32) (param $a i32) (param $count i32)
    (local $i i32) (local $n v128) (local $first v128) (local $last v128)
    ;; As `touch` does: they lie in one block or two.
    (i32.store8 $touched (i32.shr_u (local.get $at) (i32.const {TOUCHED_SHIFT})) (i32.const 1))
    (i32.store8 $touched
      (i32.shr_u
        (i32.add (local.get $at) (i32.sub (i32.shl (local.get $count) (i32.const 2)) (i32.const 1)))
        (i32.const {TOUCHED_SHIFT}))
      (i32.const 1))
    (if (i32.eq (local.get $count) (i32.const 2))
      (then
        (call $unpack (local.get $a) (local.get $count))
        (i64.store $shadow (local.get $at) (i64.load $labels offset={LANES} (i32.const 0)))
        (return)))
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then
        (local.set $first (i32x4.splat (local.get $a)))
        (loop $next
          (v128.store $shadow (local.get $at) (local.get $first))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 4)))))
        (return)))
    ;; Bytes of the input as they are: see `four`.
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then
        (local.set $n (i32x4.sub
          (v128.const i32x4 0 1 2 3)
          (i32x4.splat (i32.and (i32.shr_u (local.get $a) (i32.const {POSITION_SHIFT})) (i32.const 15)))))
        (local.set $first (i32x4.splat (i32.or (i32.const {RANGE})
          (i32.and (local.get $a) (i32.const {BASE})))))
        (local.set $last (i32x4.splat
          (i32.and (i32.shr_u (local.get $a) (i32.const {LENGTH_SHIFT})) (i32.const 15))))
        (loop $next
          (v128.store $shadow (local.get $at) (v128.and
            (i32x4.add (local.get $n) (local.get $first))
            (i32x4.le_u (local.get $n) (local.get $last))))
          (local.set $n (i32x4.add (local.get $n) (v128.const i32x4 4 4 4 4)))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 4)))))
        (return)))
    (call $unpack (local.get $a) (local.get $count))
    (loop $next
      (v128.store $shadow (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2)))
        (v128.load $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 4)))
        (local.get $count)))))

  ;; Is any of so many bytes of the shadow something? A multiple of four.
  (func $any (export "any") (param $at i32) (param $bytes i32) (result i32)
    (block $tail
      (loop $next
        (br_if $tail (i32.lt_u (local.get $bytes) (i32.const 16)))
        (if (v128.any_true (v128.load $shadow (local.get $at)))
          (then (return (i32.const 1))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (local.set $bytes (i32.sub (local.get $bytes) (i32.const 16)))
        (br $next)))
    (loop $next
      (if (i32.eqz (local.get $bytes))
        (then (return (i32.const 0))))
      (if (i32.load $shadow (local.get $at))
        (then (return (i32.const 1))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (local.set $bytes (i32.sub (local.get $bytes) (i32.const 4)))
      (br $next))
    (unreachable))

  ;; Takes the labels of so many bytes of the shadow away. What is zero is not written: a page that
  ;; never held a label takes no memory.
  (func (export "clear") (param $at i32) (param $bytes i32)
    (if (call $any (local.get $at) (local.get $bytes))
      (then (memory.fill $shadow (local.get $at) (i32.const 0) (local.get $bytes)))))

  ;; Copies so many bytes of the shadow, a multiple of four. What has no label in either place is not written.
  (func (export "copy") (param $to i32) (param $from i32) (param $bytes i32)
    (local $start i32) (local $length i32) (local $some v128) (local $any v128)
    ;; Little, and none of it written before it is read: here, for a call of the engine takes longer.
    (if (i32.and
        (i32.le_u (local.get $bytes) (i32.const 1024))
        (i32.ge_u (i32.sub (local.get $to) (local.get $from)) (local.get $bytes)))
      (then
        (local.set $start (local.get $to))
        (local.set $length (local.get $bytes))
        (block $end
          (block $tail
            (loop $next
              (br_if $tail (i32.lt_u (local.get $bytes) (i32.const 16)))
              (local.set $some (v128.load $shadow (local.get $from)))
              (local.set $any (v128.or (local.get $any) (local.get $some)))
              (if (v128.any_true (v128.or (local.get $some) (v128.load $shadow (local.get $to))))
                (then (v128.store $shadow (local.get $to) (local.get $some))))
              (local.set $to (i32.add (local.get $to) (i32.const 16)))
              (local.set $from (i32.add (local.get $from) (i32.const 16)))
              (local.set $bytes (i32.sub (local.get $bytes) (i32.const 16)))
              (br $next)))
          (loop $next
            (br_if $end (i32.eqz (local.get $bytes)))
            (local.set $some (v128.load32_zero $shadow (local.get $from)))
            (local.set $any (v128.or (local.get $any) (local.get $some)))
            (if (v128.any_true (v128.or (local.get $some) (v128.load32_zero $shadow (local.get $to))))
              (then (i32.store $shadow (local.get $to) (i32x4.extract_lane 0 (local.get $some)))))
            (local.set $to (i32.add (local.get $to) (i32.const 4)))
            (local.set $from (i32.add (local.get $from) (i32.const 4)))
            (local.set $bytes (i32.sub (local.get $bytes) (i32.const 4)))
            (br $next)))
        (if (v128.any_true (local.get $any))
          (then (call $touch (local.get $start) (local.get $length))))
        (return)))
    (if (i32.or
        (call $any (local.get $from) (local.get $bytes))
        (call $any (local.get $to) (local.get $bytes)))
      (then
        (memory.copy $shadow $shadow (local.get $to) (local.get $from) (local.get $bytes))
        (call $touch (local.get $to) (local.get $bytes)))))

  ;; Gives `count` bytes of memory one label.
  (func (export "fill") (param $at i32) (param $a i32) (param $count i32)
    (local.set $a (call $byte (local.get $a)))
    (if (local.get $count)
      (then (call $touch (local.get $at) (i32.shl (local.get $count) (i32.const 2)))))
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
    (i32.load $labels offset={LANES} (i32.const 0)))

  ;; Of a value that is input bytes as they are the bytes below `end`, and then those from `first` on, moved by so
  ;; many; `first + move` is not negative.
  (func $part (param $a i32) (param $first i32) (param $end i32) (param $move i32) (result i32)
    (local $from i32) (local $to i32) (local $at i32)
    (local.set $at (i32.and (i32.shr_u (local.get $a) (i32.const {POSITION_SHIFT})) (i32.const 15)))
    (local.set $to (i32.add (i32.add (local.get $at) (i32.const 1))
      (i32.and (i32.shr_u (local.get $a) (i32.const {LENGTH_SHIFT})) (i32.const 15))))
    (local.set $from (select (local.get $at) (local.get $first) (i32.gt_u (local.get $at) (local.get $first))))
    (local.set $to (select (local.get $to) (local.get $end) (i32.lt_u (local.get $to) (local.get $end))))
    (if (i32.ge_u (local.get $from) (local.get $to))
      (then (return (i32.const 0))))
    (i32.or
      (i32.or
        (i32.const {COPIED})
        (i32.add (i32.and (local.get $a) (i32.const {BASE})) (i32.sub (local.get $from) (local.get $at))))
      (i32.or
        (i32.shl (i32.add (local.get $from) (local.get $move)) (i32.const {POSITION_SHIFT}))
        (i32.shl (i32.sub (i32.sub (local.get $to) (local.get $from)) (i32.const 1)) (i32.const {LENGTH_SHIFT})))))

  ;; Of `count` bytes those whose bit is set in `mask`; the others are constant.
  (func (export "mask") (param $a i32) (param $mask i32) (param $count i32) (result i32)
    (local $i i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (if (i32.eqz (i32.and (local.get $mask) (i32.add (local.get $mask) (i32.const 1))))
      (then
        (if (i32.and (local.get $a) (i32.const {RANGE}))
          (then (return (call $part (local.get $a)
            (i32.const 0) (i32.popcnt (local.get $mask)) (i32.const 0)))))))
    (call $unpack (local.get $a) (local.get $count))
    (loop $next
      (if (i32.eqz (i32.and (i32.const 1) (i32.shr_u (local.get $mask) (local.get $i))))
        (then (i32.store $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2)) (i32.const 0))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count))))
    (call $pack (local.get $count)))

  ;; `count` bytes moved up by so many, zeros below.
  (func (export "shift_up") (param $a i32) (param $by i32) (param $count i32) (result i32)
    (if (i32.ge_s (local.get $a) (i32.const 0))
      (then (return (local.get $a))))
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then (return (call $part (local.get $a)
        (i32.const 0) (i32.sub (local.get $count) (local.get $by)) (local.get $by)))))
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
    (if (i32.and (local.get $a) (i32.const {RANGE}))
      (then (return (call $part (local.get $a)
        (local.get $by) (local.get $count) (i32.sub (i32.const 0) (local.get $by))))))
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
    (local.set $sign (i32.load $labels offset={LANES} (i32.shl (i32.sub (local.get $from) (i32.const 1)) (i32.const 2))))
    (loop $next
      (i32.store $labels offset={LANES} (i32.shl (local.get $from) (i32.const 2)) (local.get $sign))
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
      (i32.store $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2)) (call $join
        (i32.load $labels offset={OTHER_LANES} (i32.shl (local.get $i) (i32.const 2)))
        (i32.load $labels offset={LANES} (i32.shl (local.get $i) (i32.const 2)))))
      (br_if $next (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (local.get $count))))
    (call $pack (local.get $count)))

  ;; Where the next event goes if the list is long and ends at `end`. The latest one is taken back if it is the same as one
  ;; lately, unless repeats are wanted.
  (func (export "room") (param $end i32) (result i32)
    (local $start i32) (local $last i32) (local $at i32) (local $known i32) (local $other i32)
    (if (i32.gt_u (local.get $end) (i32.const {EVENT_LIST_FULL}))
      (then
        (if (i32.eqz (i32.load $labels offset={EVENTS_FULL} (i32.const 0)))
          (then (i32.store $labels offset={EVENTS_FULL} (i32.const 0) (local.get $end))))
        (i32.store $labels offset={DROPPED} (i32.const 0)
          (i32.add (i32.load $labels offset={DROPPED} (i32.const 0)) (i32.const 1)))
        (return (i32.const {EVENT_SINK}))))
    (local.set $start (i32.load $labels offset={EVENT_LATEST} (i32.const 0)))
    (i32.store $labels offset={EVENT_LATEST} (i32.const 0) (local.get $end))
    (if (i32.or
        (i32.eqz (local.get $start))
        (i32.load $labels offset={REPEATS} (i32.const 0)))
      (then (return (local.get $end))))
    ;; One of less than eight bytes is not looked at, for the last eight are not all its own: it has one number, without a label.
    (local.set $last (i32.sub (local.get $end) (i32.const 8)))
    (if (i32.lt_u (local.get $last) (local.get $start))
      (then (return (local.get $end))))
    (local.set $known (i32.shl
      (i32.wrap_i64 (i64.shr_u
        (i64.mul
          (i64.xor
            (i64.mul (i64.load $labels (local.get $start)) (i64.const 0x9e3779b97f4a7c15))
            (i64.rotl (i64.load $labels (local.get $last)) (i64.const 29)))
          (i64.const 0xc2b2ae3d27d4eb4f))
        (i64.const {KNOWN_SHIFT})))
      (i32.const 2)))
    (local.set $other (i32.load $labels offset={KNOWN} (local.get $known)))
    (block $differs
      (br_if $differs (i32.eqz (local.get $other)))
      ;; With the same head they are of the same site, and equally long. By eight bytes, of which the last lie where they may.
      (br_if $differs (i64.ne
        (i64.load $labels (local.get $last))
        (i64.load $labels (i32.add (local.get $other) (i32.sub (local.get $last) (local.get $start))))))
      (local.set $at (local.get $start))
      (loop $next
        (br_if $differs (i64.ne
          (i64.load $labels (local.get $at))
          (i64.load $labels (i32.add (local.get $other) (i32.sub (local.get $at) (local.get $start))))))
        (br_if $next (i32.lt_u
          (local.tee $at (i32.add (local.get $at) (i32.const 8)))
          (local.get $last))))
      (i32.store $labels offset={EVENT_LATEST} (i32.const 0) (local.get $start))
      (i32.store $labels offset={REPEATED} (i32.const 0)
        (i32.add (i32.load $labels offset={REPEATED} (i32.const 0)) (i32.const 1)))
      (return (local.get $start)))
    (i32.store $labels offset={KNOWN} (local.get $known) (local.get $start))
    (local.get $end))

  ;; The label of what was loaded from an address with a label, the lower one of `labels`; the upper one is that of what lies
  ;; there: both if it lies where the module's data is, from the lower half of `data` on, so many bytes as the upper one says.
  (func (export "index") (param $address i32) (param $labels i64) (param $data i64) (result i32)
    (local $loaded i32)
    (local.set $loaded (i32.wrap_i64 (i64.shr_u (local.get $labels) (i64.const 32))))
    (if (i32.lt_u
        (i32.sub (local.get $address) (i32.wrap_i64 (local.get $data)))
        (i32.wrap_i64 (i64.shr_u (local.get $data) (i64.const 32))))
      (then (return (call $join (local.get $loaded) (i32.wrap_i64 (local.get $labels))))))
    (local.get $loaded))
)
