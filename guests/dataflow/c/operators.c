// Every operator for C. Data sets 0 and 1 are rows `key,value`; what follows is the text that the results have to make,
// as tests/dataflow/c.rs makes it of Rust's operators: another text is a trap.
#include "../../../sdk/c/sandglass_flow.h"

static const uint8_t *expected, *expected_end;

static void put(sg_text text) {
  if ((size_t)(expected_end - expected) < text.length) __builtin_trap();
  if (!sg_text_equal(sg_text_of(expected, text.length), text)) __builtin_trap();
  expected += text.length;
}
static void put_word(const char *word) { put(sg_text_of(word, sg_length(word))); }
static void put_count(size_t count) {
  char digits[20];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + count % 10);
  while (count /= 10);
  put(sg_text_of(digits + at, sizeof digits - at));
}
static void put_value(const void *value) {
  if (value) put(*(const sg_text *)value);
  else put_word("none");
}
static void put_group(const sg_group *group) {
  put_word("[");
  for (size_t i = 0; i < group->count; i++) put_value(group->values[i]), put_word(";");
  put_word("]");
}

// What a row is: text without a key, or with one: text, both sides of a join, a group, two of them, or a count.
enum { LINE, TEXT, SIDES, GROUP, GROUPS, COUNT };

static void put_rows(const char *name, sg_rows rows, int kind) {
  put_word(name), put_word("@"), put_count(rows.depth), put_word("\n");
  for (size_t i = 0; i < rows.count; i++) {
    const sg_keyed *row = (const sg_keyed *)rows.rows[i];
    if (kind != LINE) put(row->key), put_word("=");
    switch (kind) {
    case LINE: put_value(row); break;
    case TEXT: put_value(row->value); break;
    case SIDES: put_value(((const sg_sides *)row->value)->left), put_word("|"), put_value(((const sg_sides *)row->value)->right); break;
    case GROUP: put_group((const sg_group *)row->value); break;
    case GROUPS: put_group(&((const sg_groups *)row->value)->left), put_group(&((const sg_groups *)row->value)->right); break;
    case COUNT: put_count(*(const size_t *)row->value); break;
    }
    put_word("\n");
  }
}

static const void *pair(const void *row) {
  const sg_cells *cells = (const sg_cells *)row;
  static const sg_text none = {0, 0};
  return sg_pair(cells->count > 0 ? cells->cells[0] : none, cells->count > 1 ? &cells->cells[1] : &none);
}
static void twice_if_short(const void *row, sg_rows *to) {
  size_t length = ((const sg_keyed *)row)->key.length;
  for (size_t i = length; i < 3; i++) sg_flow_add(to, row);
}
static int is_short(const void *row) { return ((const sg_text *)((const sg_keyed *)row)->value)->length < 2; }
static const void *first_byte(const void *value) {
  const sg_text *text = (const sg_text *)value;
  sg_text *first = (sg_text *)sg_flow_room(sizeof *first);
  *first = sg_text_of(text->at, text->length > 0);
  return first;
}
static int by_value(const void *a, const void *b) {
  return sg_text_order(*(const sg_text *)((const sg_keyed *)a)->value, *(const sg_text *)((const sg_keyed *)b)->value);
}
// The texts, one after the other.
static const void *both(const void *a, const void *b) {
  const sg_text *left = (const sg_text *)a, *right = (const sg_text *)b;
  char *bytes = (char *)sg_flow_room(left->length + right->length);
  for (size_t i = 0; i < left->length; i++) bytes[i] = left->at[i];
  for (size_t i = 0; i < right->length; i++) bytes[left->length + i] = right->at[i];
  sg_text *text = (sg_text *)sg_flow_room(sizeof *text);
  *text = sg_text_of(bytes, left->length + right->length);
  return text;
}
static const void *both_rows(const void *a, const void *b) {
  return sg_pair(sg_flow_key(a), both(((const sg_keyed *)a)->value, ((const sg_keyed *)b)->value));
}

SG_TARGET(data, size) {
  size_t rest = 0;
  for (int sets = 2; sets > 0 && rest < size; rest++) sets -= data[rest] == 0x1c;
  expected = data + rest, expected_end = data + size;

  sg_rows a = sg_flow_map(sg_flow_cells(data, size, 0, ','), pair), b = sg_flow_map(sg_flow_cells(data, size, 1, ','), pair);
  put_rows("map", a, TEXT), put_rows("map", b, TEXT);
  put_rows("flat_map", sg_flow_flat_map(a, twice_if_short), TEXT);
  put_rows("filter", sg_flow_filter(a, is_short), TEXT);
  put_rows("map_values", sg_flow_map_values(a, first_byte), TEXT);
  put_rows("join", sg_flow_join(sg_flow_filter(a, is_short), b), SIDES);
  put_rows("left_join", sg_flow_left_join(a, b), SIDES);
  put_rows("full_join", sg_flow_full_join(a, b), SIDES);
  put_rows("cogroup", sg_flow_cogroup(a, b), GROUPS);
  sg_rows lines = sg_flow_rows(data, size, 0), others = sg_flow_rows(data, size, 1);
  put_rows("intersection", sg_flow_intersection(lines, others, sg_flow_text), LINE);
  put_rows("union", sg_flow_union(a, b), TEXT);
  put_rows("group_by_key", sg_flow_group_by_key(a), GROUP);
  put_rows("reduce_by_key", sg_flow_reduce_by_key(a, both), TEXT);
  static const sg_text start = {"<", 1};
  put_rows("aggregate_by_key", sg_flow_aggregate_by_key(a, &start, both), TEXT);
  put_rows("count_by_key", sg_flow_count_by_key(a), COUNT);
  put_rows("sort_by", sg_flow_sort_by(a, by_value), TEXT);
  put_rows("distinct", sg_flow_distinct(lines, sg_flow_text), LINE);
  put_rows("take", sg_flow_take(b, 2), TEXT);
  if (others.count > 0) put_value(sg_flow_reduce(others, both));
  if (a.count > 0) put_value(((const sg_keyed *)sg_flow_reduce(a, both_rows))->value);
  if (expected != expected_end) __builtin_trap();
  return SG_VALID;
}
