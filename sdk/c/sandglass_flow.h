// Dataflow for C and C++: data sets of text rows, and the operators that Spark programs are made of. Header only, no libc, clang or zig.
//
//     static const void *by_id(const void *row) { return sg_pair(sg_cell((const sg_cells *)row, 0), row); }
//     static const void *by_customer(const void *row) { return sg_pair(sg_cell((const sg_cells *)row, 1), row); }
//
//     SG_TARGET(data, size) {
//       sg_rows customers = sg_flow_map(sg_flow_cells(data, size, 0, ','), by_id);
//       sg_rows orders = sg_flow_map(sg_flow_cells(data, size, 1, ','), by_customer);
//       return sg_flow_group_by_key(sg_flow_join(customers, orders)).count > 0 ? SG_VALID : SG_INVALID;
//     }
//
// The same operators, numbers, depths and orders as `sandglass_sdk::flow` has for Rust: one after the other, not lazily; groups
// come in the order of their first rows, a join in the order of its right side, and sorting keeps equal rows as they came. The
// input is that of Rust, too: a byte 0x1C between data sets, a newline between rows.
//
// A row is a pointer to anything. Keyed operators work on rows that are `sg_keyed`, and say which value theirs have. Departure
// from Rust: text is bytes, and is not made UTF-8.
//
// Memory comes from sg_flow_room and is not given back: every run begins from the same snapshot. So all this is for wasm only.
#ifndef SANDGLASS_FLOW_H
#define SANDGLASS_FLOW_H

#include "sandglass.h"

#ifndef __wasm__
#error "sandglass_flow.h is for modules: build with --target=wasm32-wasi or the like"
#endif

// ---- the imports ----

SG_IMPORT(flow_watch) int32_t sandglass_flow_watch(void);
SG_IMPORT(flow_operator) void sandglass_flow_operator(uint32_t number, uint32_t kind, uint32_t depth, const char *site, size_t length);
SG_IMPORT(flow_equal) void sandglass_flow_equal(uint32_t number, const void *left, size_t left_length, const void *right, size_t right_length);
SG_IMPORT(flow_group) void sandglass_flow_group(uint32_t number, const void *key, size_t key_length, size_t size);
SG_IMPORT(flow_filter) void sandglass_flow_filter(uint32_t number, int32_t kept);

// ---- rows ----

// Bytes of the input, or of anything else that stays where it is: keys of numbers are their bytes.
typedef struct {
  const char *at;
  size_t length;
} sg_text;

// Rows, and the operator that they come from.
typedef struct {
  const void **rows;
  size_t count, room;
  uint32_t number; // of the operator, if depth is not 0
  uint32_t depth;  // the longest way from a data set, in operators
} sg_rows;

// A row that was split.
typedef struct {
  sg_text row;
  size_t count;
  sg_text *cells;
} sg_cells;

// A row with a key.
typedef struct {
  sg_text key;
  const void *value;
} sg_keyed;

// The value of a join: of an outer one, what has no partner is NULL.
typedef struct {
  const void *left, *right;
} sg_sides;

// The value of group_by_key: the values of a key.
typedef struct {
  const void **values;
  size_t count, room;
} sg_group;

// The value of cogroup.
typedef struct {
  sg_group left, right;
} sg_groups;

// What operators are handed.
typedef const void *(*sg_map_function)(const void *row);
typedef int (*sg_filter_function)(const void *row);
typedef void (*sg_flat_map_function)(const void *row, sg_rows *to); // adds rows by sg_flow_add
typedef sg_text (*sg_text_function)(const void *row);
typedef const void *(*sg_combine_function)(const void *first, const void *second);
typedef int (*sg_order_function)(const void *first, const void *second); // as of qsort

// An injected fault: ends the run in a trap of its own, with `fault ID` as its note. A statement.
#define sg_flow_fault(id)     \
  do {                        \
    sg_note("fault " id);     \
    SG_FAIL();                \
  } while (0)

// So many bytes, aligned for anything. Traps if there are none.
static inline void *sg_flow_room(size_t bytes) {
  static uintptr_t at, end;
  if (bytes > SIZE_MAX - 15) __builtin_trap();
  bytes = (bytes + 15) & ~(size_t)15;
  if (end - at < bytes) {
    size_t pages = bytes / 65536 + 16, before = __builtin_wasm_memory_grow(0, pages);
    if (before == SIZE_MAX) __builtin_trap();
    if (before * 65536 != end) at = before * 65536;
    end = (before + pages) * 65536;
  }
  at += bytes;
  return (void *)(at - bytes);
}

static inline void *sg_flow_array(size_t count, size_t bytes) {
  if (count > SIZE_MAX / 2 / bytes) __builtin_trap();
  return sg_flow_room(count * bytes);
}

static inline void sg_flow_push(const void ***rows, size_t *count, size_t *room, const void *row) {
  if (*count == *room) {
    size_t more = *room ? 2 * *room : 4;
    const void **moved = (const void **)sg_flow_array(more, sizeof *moved);
    for (size_t i = 0; i < *count; i++) moved[i] = (*rows)[i];
    *rows = moved, *room = more;
  }
  (*rows)[(*count)++] = row;
}

// One row more: for flat_map.
static inline void sg_flow_add(sg_rows *to, const void *row) { sg_flow_push(&to->rows, &to->count, &to->room, row); }

static inline void sg_flow_value(sg_group *to, const void *value) { sg_flow_push(&to->values, &to->count, &to->room, value); }

static inline sg_text sg_text_of(const void *at, size_t length) {
  sg_text text;
  text.at = (const char *)at, text.length = length;
  return text;
}

static inline const sg_keyed *sg_pair(sg_text key, const void *value) {
  sg_keyed *pair = (sg_keyed *)sg_flow_room(sizeof *pair);
  pair->key = key, pair->value = value;
  return pair;
}

// By bytes, and the shorter first: below, at or above 0.
static inline int sg_text_order(sg_text a, sg_text b) {
  size_t both = a.length < b.length ? a.length : b.length;
  for (size_t i = 0; i < both; i++)
    if (a.at[i] != b.at[i]) return (uint8_t)a.at[i] < (uint8_t)b.at[i] ? -1 : 1;
  return a.length < b.length ? -1 : a.length > b.length;
}
static inline int sg_text_equal(sg_text a, sg_text b) { return a.length == b.length && sg_text_order(a, b) == 0; }
static inline int sg_text_is(sg_text a, const char *word) { return sg_text_equal(a, sg_text_of(word, sg_length(word))); }

// ---- data sets ----

// The parts of a row between separators. As on the JVM, empty parts at the end are dropped; what has no separator is one
// part, even if it is empty.
static inline const sg_cells *sg_split(sg_text row, char separator) {
  size_t count = 1;
  for (size_t i = 0; i < row.length; i++) count += row.at[i] == separator;
  sg_cells *split = (sg_cells *)sg_flow_room(sizeof *split);
  split->row = row, split->count = count, split->cells = (sg_text *)sg_flow_array(count, sizeof(sg_text));
  size_t start = 0, cell = 0;
  for (size_t i = 0; i <= row.length; i++)
    if (i == row.length || row.at[i] == separator) split->cells[cell++] = sg_text_of(row.at + start, i - start), start = i + 1;
  while (count > 1 && split->count > 0 && split->cells[split->count - 1].length == 0) split->count--;
  return split;
}

// A cell, counted from 0. Traps, with a note, if the row has none there.
static inline sg_text sg_cell(const sg_cells *row, size_t nth) {
  if (nth >= row->count) sg_note("a row has too few cells"), __builtin_trap();
  return row->cells[nth];
}

// A 32-bit integer: an optional sign and decimal digits. Traps, with a note, on anything else.
static inline int32_t sg_flow_int(sg_text text) {
  size_t at = text.length > 0 && (text.at[0] == '+' || text.at[0] == '-');
  int64_t number = 0;
  int is_one = at < text.length;
  for (; is_one && at < text.length; at++) {
    is_one = text.at[at] >= '0' && text.at[at] <= '9';
    number = number * 10 + (text.at[at] - '0');
    is_one &= number <= (int64_t)INT32_MAX + 1;
  }
  if (is_one && text.at[0] == '-') number = -number;
  if (!is_one || number > INT32_MAX) sg_note("not an integer"), __builtin_trap();
  return (int32_t)number;
}

static inline sg_rows sg_flow_empty(void) {
  sg_rows rows;
  rows.rows = 0, rows.count = rows.room = 0, rows.number = rows.depth = 0;
  return rows;
}

// The rows of a data set, counted from 0, without their newlines: each a `sg_text`. None of a set that the input does not have.
static inline sg_rows sg_flow_rows(const uint8_t *data, size_t size, uint32_t set) {
  sg_rows rows = sg_flow_empty();
  size_t from = 0, end;
  for (; set > 0 && from < size; from++) set -= data[from] == 0x1c;
  for (end = from; end < size && data[end] != 0x1c;) end++;
  if (set > 0 || from == end) return rows;
  if (data[end - 1] == '\n') end--; // it ends the last row and begins no other
  for (size_t i = from; i <= end; i++)
    if (i == end || data[i] == '\n') {
      sg_text *row = (sg_text *)sg_flow_room(sizeof *row);
      *row = sg_text_of(data + from, i - from);
      sg_flow_add(&rows, row);
      from = i + 1;
    }
  return rows;
}

// The same, split: each a `sg_cells`.
static inline sg_rows sg_flow_cells(const uint8_t *data, size_t size, uint32_t set, char separator) {
  sg_rows rows = sg_flow_rows(data, size, set);
  for (size_t i = 0; i < rows.count; i++) rows.rows[i] = sg_split(*(const sg_text *)rows.rows[i], separator);
  return rows;
}

// ---- operators: what they tell the host ----

enum {
  SG_FLOW_MAP, SG_FLOW_FLAT_MAP, SG_FLOW_FILTER, SG_FLOW_MAP_VALUES, SG_FLOW_JOIN, SG_FLOW_LEFT_JOIN, SG_FLOW_FULL_JOIN,
  SG_FLOW_COGROUP, SG_FLOW_INTERSECTION, SG_FLOW_UNION, SG_FLOW_GROUP_BY_KEY, SG_FLOW_REDUCE_BY_KEY, SG_FLOW_AGGREGATE_BY_KEY,
  SG_FLOW_COUNT_BY_KEY, SG_FLOW_REDUCE, SG_FLOW_SORT_BY, SG_FLOW_DISTINCT
};

#define SG_TEXT_OF_(line) #line
#define SG_TEXT_OF(line) SG_TEXT_OF_(line)
#define SG_HERE SG_FILE ":" SG_TEXT_OF(__LINE__)

static inline int sg_flow_watched(void) {
  static int known; // 1 no, 2 yes
  if (!known) known = sandglass_flow_watch() ? 2 : 1;
  return known == 2;
}

// The rows of an operator that is yet to run, on what has these depths.
static inline sg_rows sg_flow_step(const char *site, uint32_t kind, uint32_t depth, uint32_t other) {
  static uint32_t operators;
  sg_rows rows = sg_flow_empty();
  rows.number = operators++, rows.depth = (depth > other ? depth : other) + 1;
  if (sg_flow_watched()) sandglass_flow_operator(rows.number, kind, rows.depth, site, sg_length(site));
  return rows;
}

static inline void sg_flow_told_equal(sg_rows step, sg_text left, sg_text right) {
  if (sg_flow_watched()) sandglass_flow_equal(step.number, left.at, left.length, right.at, right.length);
}
static inline void sg_flow_told_group(sg_rows step, sg_text key, size_t size) {
  if (sg_flow_watched()) sandglass_flow_group(step.number, key.at, key.length, size);
}

// ---- operators: order and keys ----

// Sorts stably: by merging.
static inline void sg_flow_sort(const void **rows, size_t count, sg_order_function order) {
  const void **from = rows, **to = (const void **)sg_flow_array(count, sizeof *to);
  for (size_t run = 1; run < count; run *= 2) {
    for (size_t start = 0; start < count; start += 2 * run) {
      size_t middle = start + run < count ? start + run : count, end = middle + run < count ? middle + run : count;
      for (size_t left = start, right = middle, at = start; at < end; at++)
        to[at] = right == end || (left < middle && order(from[left], from[right]) <= 0) ? from[left++] : from[right++];
    }
    const void **sorted = to;
    to = from, from = sorted;
  }
  if (from != rows)
    for (size_t i = 0; i < count; i++) rows[i] = from[i];
}

static inline sg_text sg_flow_key(const void *row) { return ((const sg_keyed *)row)->key; }
static inline sg_text sg_flow_text(const void *row) { return *(const sg_text *)row; }

// Where each key is: a row of an index is found by its key, and says which of the rows has it.
typedef struct {
  sg_text key;
  size_t nth;
} sg_flow_place;

typedef struct {
  const void **places;
  size_t count;
} sg_flow_index;

static inline int sg_flow_place_order(const void *a, const void *b) {
  return sg_text_order(((const sg_flow_place *)a)->key, ((const sg_flow_place *)b)->key);
}

static inline sg_flow_index sg_flow_indexed(sg_rows rows, sg_text_function key) {
  sg_flow_index index;
  sg_flow_place *places = (sg_flow_place *)sg_flow_array(rows.count, sizeof *places);
  index.places = (const void **)sg_flow_array(rows.count, sizeof *index.places), index.count = rows.count;
  for (size_t i = 0; i < rows.count; i++) {
    places[i].key = key(rows.rows[i]), places[i].nth = i;
    index.places[i] = &places[i];
  }
  sg_flow_sort(index.places, index.count, sg_flow_place_order);
  return index;
}

// The nth of the rows with a key, from where `sg_flow_first` found it; NULL if there are no more.
static inline const sg_flow_place *sg_flow_at(sg_flow_index index, size_t at, sg_text key) {
  if (at >= index.count) return 0;
  const sg_flow_place *place = (const sg_flow_place *)index.places[at];
  return sg_text_equal(place->key, key) ? place : 0;
}
static inline size_t sg_flow_first(sg_flow_index index, sg_text key) {
  size_t from = 0, to = index.count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (sg_text_order(((const sg_flow_place *)index.places[middle])->key, key) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

// ---- operators without keys ----

// Every row becomes what the function makes of it.
#define sg_flow_map(rows, function) sg_flow_map_at(SG_HERE, rows, function)
static inline sg_rows sg_flow_map_at(const char *site, sg_rows rows, sg_map_function function) {
  sg_rows to = sg_flow_step(site, SG_FLOW_MAP, rows.depth, 0);
  for (size_t i = 0; i < rows.count; i++) sg_flow_add(&to, function(rows.rows[i]));
  return to;
}

// Every row becomes the rows that the function adds: none, one or more.
#define sg_flow_flat_map(rows, function) sg_flow_flat_map_at(SG_HERE, rows, function)
static inline sg_rows sg_flow_flat_map_at(const char *site, sg_rows rows, sg_flat_map_function function) {
  sg_rows to = sg_flow_step(site, SG_FLOW_FLAT_MAP, rows.depth, 0);
  for (size_t i = 0; i < rows.count; i++) function(rows.rows[i], &to);
  return to;
}

// The rows for which the function holds.
#define sg_flow_filter(rows, function) sg_flow_filter_at(SG_HERE, rows, function)
static inline sg_rows sg_flow_filter_at(const char *site, sg_rows rows, sg_filter_function function) {
  sg_rows to = sg_flow_step(site, SG_FLOW_FILTER, rows.depth, 0);
  for (size_t i = 0; i < rows.count; i++) {
    int kept = function(rows.rows[i]) != 0;
    if (sg_flow_watched()) sandglass_flow_filter(to.number, kept);
    if (kept) sg_flow_add(&to, rows.rows[i]);
  }
  return to;
}

// The rows of both, the first's first. Rows that both have stay twice.
#define sg_flow_union(rows, other) sg_flow_union_at(SG_HERE, rows, other)
static inline sg_rows sg_flow_union_at(const char *site, sg_rows rows, sg_rows other) {
  sg_rows to = sg_flow_step(site, SG_FLOW_UNION, rows.depth, other.depth);
  for (size_t i = 0; i < rows.count; i++) sg_flow_add(&to, rows.rows[i]);
  for (size_t i = 0; i < other.count; i++) sg_flow_add(&to, other.rows[i]);
  return to;
}

// The rows in an order; equal ones stay as they came.
#define sg_flow_sort_by(rows, order) sg_flow_sort_by_at(SG_HERE, rows, order)
static inline sg_rows sg_flow_sort_by_at(const char *site, sg_rows rows, sg_order_function order) {
  sg_rows to = sg_flow_step(site, SG_FLOW_SORT_BY, rows.depth, 0);
  for (size_t i = 0; i < rows.count; i++) sg_flow_add(&to, rows.rows[i]);
  sg_flow_sort(to.rows, to.count, order);
  return to;
}

// Combines all rows into one, from the first to the last. Traps, with a note, if there is none.
#define sg_flow_reduce(rows, combine) sg_flow_reduce_at(SG_HERE, rows, combine)
static inline const void *sg_flow_reduce_at(const char *site, sg_rows rows, sg_combine_function combine) {
  sg_flow_step(site, SG_FLOW_REDUCE, rows.depth, 0);
  if (rows.count == 0) sg_note("reduce of an empty data set"), __builtin_trap();
  const void *all = rows.rows[0];
  for (size_t i = 1; i < rows.count; i++) all = combine(all, rows.rows[i]);
  return all;
}

// The first rows, as many as wanted if there are so many. No operator.
static inline sg_rows sg_flow_take(sg_rows rows, size_t count) {
  if (rows.count > count) rows.count = count;
  return rows;
}

// Of rows with equal texts, the first.
#define sg_flow_distinct(rows, text) sg_flow_distinct_at(SG_HERE, rows, text)
static inline sg_rows sg_flow_distinct_at(const char *site, sg_rows rows, sg_text_function text) {
  sg_rows to = sg_flow_step(site, SG_FLOW_DISTINCT, rows.depth, 0);
  sg_flow_index index = sg_flow_indexed(rows, text);
  for (size_t i = 0; i < rows.count; i++) {
    sg_text key = text(rows.rows[i]);
    const sg_flow_place *first = sg_flow_at(index, sg_flow_first(index, key), key);
    if (first->nth == i) sg_flow_add(&to, rows.rows[i]);
    else sg_flow_told_equal(to, first->key, key);
  }
  return to;
}

// The rows whose texts both have, once each, in the order of the first.
#define sg_flow_intersection(rows, other, text) sg_flow_intersection_at(SG_HERE, rows, other, text)
static inline sg_rows sg_flow_intersection_at(const char *site, sg_rows rows, sg_rows other, sg_text_function text) {
  sg_rows to = sg_flow_step(site, SG_FLOW_INTERSECTION, rows.depth, other.depth);
  sg_flow_index here = sg_flow_indexed(rows, text), there = sg_flow_indexed(other, text);
  for (size_t i = 0; i < rows.count; i++) {
    sg_text key = text(rows.rows[i]);
    const sg_flow_place *same = sg_flow_at(there, sg_flow_first(there, key), key);
    if (!same) continue;
    sg_flow_told_equal(to, key, same->key);
    if (sg_flow_at(here, sg_flow_first(here, key), key)->nth == i) sg_flow_add(&to, rows.rows[i]);
  }
  return to;
}

// ---- operators on rows with keys ----

// Every value becomes what the function makes of it; keys stay.
#define sg_flow_map_values(rows, function) sg_flow_map_values_at(SG_HERE, rows, function)
static inline sg_rows sg_flow_map_values_at(const char *site, sg_rows rows, sg_map_function function) {
  sg_rows to = sg_flow_step(site, SG_FLOW_MAP_VALUES, rows.depth, 0);
  for (size_t i = 0; i < rows.count; i++) {
    const sg_keyed *row = (const sg_keyed *)rows.rows[i];
    sg_flow_add(&to, sg_pair(row->key, function(row->value)));
  }
  return to;
}

static inline const void *sg_flow_sides(const void *left, const void *right) {
  sg_sides *sides = (sg_sides *)sg_flow_room(sizeof *sides);
  sides->left = left, sides->right = right;
  return sides;
}

// For each row of the right, one with each row of the left that has the same key. The key is the left's, the value an
// `sg_sides` of both values.
#define sg_flow_join(left, right) sg_flow_join_at(SG_HERE, left, right)
static inline sg_rows sg_flow_join_at(const char *site, sg_rows left, sg_rows right) {
  sg_rows to = sg_flow_step(site, SG_FLOW_JOIN, left.depth, right.depth);
  sg_flow_index index = sg_flow_indexed(left, sg_flow_key);
  for (size_t i = 0; i < right.count; i++) {
    const sg_keyed *row = (const sg_keyed *)right.rows[i];
    const sg_flow_place *place;
    for (size_t at = sg_flow_first(index, row->key); (place = sg_flow_at(index, at, row->key)); at++) {
      const sg_keyed *partner = (const sg_keyed *)left.rows[place->nth];
      sg_flow_told_equal(to, partner->key, row->key);
      sg_flow_add(&to, sg_pair(partner->key, sg_flow_sides(partner->value, row->value)));
    }
  }
  return to;
}

// Appends, for each row of the left, one with each row of the right that has the same key, or one with none.
static inline void sg_flow_join_left(sg_rows *to, sg_rows left, sg_rows right) {
  sg_flow_index index = sg_flow_indexed(right, sg_flow_key);
  for (size_t i = 0; i < left.count; i++) {
    const sg_keyed *row = (const sg_keyed *)left.rows[i];
    const sg_flow_place *place;
    size_t first = sg_flow_first(index, row->key), at = first;
    for (; (place = sg_flow_at(index, at, row->key)); at++) {
      const sg_keyed *partner = (const sg_keyed *)right.rows[place->nth];
      sg_flow_told_equal(*to, row->key, partner->key);
      sg_flow_add(to, sg_pair(row->key, sg_flow_sides(row->value, partner->value)));
    }
    if (at == first) sg_flow_add(to, sg_pair(row->key, sg_flow_sides(row->value, 0)));
  }
}

// As a join, in the order of the left; rows of the left without a partner stay, with none.
#define sg_flow_left_join(left, right) sg_flow_left_join_at(SG_HERE, left, right)
static inline sg_rows sg_flow_left_join_at(const char *site, sg_rows left, sg_rows right) {
  sg_rows to = sg_flow_step(site, SG_FLOW_LEFT_JOIN, left.depth, right.depth);
  sg_flow_join_left(&to, left, right);
  return to;
}

// The same, and then the rows of the right whose key is not at the left.
#define sg_flow_full_join(left, right) sg_flow_full_join_at(SG_HERE, left, right)
static inline sg_rows sg_flow_full_join_at(const char *site, sg_rows left, sg_rows right) {
  sg_rows to = sg_flow_step(site, SG_FLOW_FULL_JOIN, left.depth, right.depth);
  sg_flow_join_left(&to, left, right);
  sg_flow_index index = sg_flow_indexed(left, sg_flow_key);
  for (size_t i = 0; i < right.count; i++) {
    const sg_keyed *row = (const sg_keyed *)right.rows[i];
    if (!sg_flow_at(index, sg_flow_first(index, row->key), row->key)) sg_flow_add(&to, sg_pair(row->key, sg_flow_sides(0, row->value)));
  }
  return to;
}

// For each row in turn the row that is first of its key, told as equal; groups in that order.
static inline sg_rows sg_flow_cogrouped(sg_rows to, sg_rows left, sg_rows right) {
  sg_rows all = sg_flow_empty();
  for (size_t i = 0; i < left.count; i++) sg_flow_add(&all, left.rows[i]);
  for (size_t i = 0; i < right.count; i++) sg_flow_add(&all, right.rows[i]);
  sg_flow_index index = sg_flow_indexed(all, sg_flow_key);
  sg_groups **of_first = (sg_groups **)sg_flow_array(all.count, sizeof *of_first);
  for (size_t i = 0; i < all.count; i++) {
    const sg_keyed *row = (const sg_keyed *)all.rows[i];
    const sg_flow_place *first = sg_flow_at(index, sg_flow_first(index, row->key), row->key);
    if (first->nth == i) {
      sg_groups *groups = (sg_groups *)sg_flow_room(sizeof *groups);
      groups->left.values = groups->right.values = 0;
      groups->left.count = groups->left.room = groups->right.count = groups->right.room = 0;
      of_first[i] = groups;
      sg_flow_add(&to, sg_pair(row->key, groups));
    } else {
      sg_flow_told_equal(to, first->key, row->key);
    }
    sg_groups *groups = of_first[first->nth];
    sg_flow_value(i < left.count ? &groups->left : &groups->right, row->value);
  }
  for (size_t i = 0; i < to.count; i++) {
    const sg_keyed *row = (const sg_keyed *)to.rows[i];
    const sg_groups *groups = (const sg_groups *)row->value;
    sg_flow_told_group(to, row->key, groups->left.count + groups->right.count);
  }
  return to;
}

// For each key of either side the values of both, an `sg_groups`: keys of the left first, in the order of their first rows.
#define sg_flow_cogroup(left, right) sg_flow_cogroup_at(SG_HERE, left, right)
static inline sg_rows sg_flow_cogroup_at(const char *site, sg_rows left, sg_rows right) {
  return sg_flow_cogrouped(sg_flow_step(site, SG_FLOW_COGROUP, left.depth, right.depth), left, right);
}

// The same of one side: values are `sg_group`.
static inline sg_rows sg_flow_grouped(sg_rows to, sg_rows rows) {
  to = sg_flow_cogrouped(to, rows, sg_flow_empty());
  for (size_t i = 0; i < to.count; i++) {
    const sg_keyed *row = (const sg_keyed *)to.rows[i];
    to.rows[i] = sg_pair(row->key, &((const sg_groups *)row->value)->left);
  }
  return to;
}

// The values of each key, an `sg_group`.
#define sg_flow_group_by_key(rows) sg_flow_group_by_key_at(SG_HERE, rows)
static inline sg_rows sg_flow_group_by_key_at(const char *site, sg_rows rows) {
  return sg_flow_grouped(sg_flow_step(site, SG_FLOW_GROUP_BY_KEY, rows.depth, 0), rows);
}

// The values of each key, combined from the first to the last; into `start` first, unless that is NULL.
static inline sg_rows sg_flow_folded(sg_rows to, sg_rows rows, const void *start, sg_combine_function combine) {
  to = sg_flow_grouped(to, rows);
  for (size_t i = 0; i < to.count; i++) {
    const sg_keyed *row = (const sg_keyed *)to.rows[i];
    const sg_group *group = (const sg_group *)row->value;
    size_t nth = start ? 0 : 1;
    const void *all = start ? start : group->values[0];
    for (; nth < group->count; nth++) all = combine(all, group->values[nth]);
    to.rows[i] = sg_pair(row->key, all);
  }
  return to;
}

// The values of each key, combined from the first to the last.
#define sg_flow_reduce_by_key(rows, combine) sg_flow_reduce_by_key_at(SG_HERE, rows, combine)
static inline sg_rows sg_flow_reduce_by_key_at(const char *site, sg_rows rows, sg_combine_function combine) {
  return sg_flow_folded(sg_flow_step(site, SG_FLOW_REDUCE_BY_KEY, rows.depth, 0), rows, 0, combine);
}

// The values of each key, folded into `start`, which is not NULL and which the function leaves as it is.
#define sg_flow_aggregate_by_key(rows, start, combine) sg_flow_aggregate_by_key_at(SG_HERE, rows, start, combine)
static inline sg_rows sg_flow_aggregate_by_key_at(const char *site, sg_rows rows, const void *start, sg_combine_function combine) {
  return sg_flow_folded(sg_flow_step(site, SG_FLOW_AGGREGATE_BY_KEY, rows.depth, 0), rows, start, combine);
}

// How many rows each key has: values are `size_t`. The result is meant to be looked at, not to be worked on.
#define sg_flow_count_by_key(rows) sg_flow_count_by_key_at(SG_HERE, rows)
static inline sg_rows sg_flow_count_by_key_at(const char *site, sg_rows rows) {
  sg_rows to = sg_flow_grouped(sg_flow_step(site, SG_FLOW_COUNT_BY_KEY, rows.depth, 0), rows);
  for (size_t i = 0; i < to.count; i++) {
    const sg_keyed *row = (const sg_keyed *)to.rows[i];
    to.rows[i] = sg_pair(row->key, &((const sg_group *)row->value)->count);
  }
  return to;
}

#endif
