// P2 Customers, as p2.rs beside it, by the operators for C.
#include "../../../sdk/c/sandglass_flow.h"

typedef struct {
  sg_text item;
  int32_t date;
} purchase;

static const void *order(const void *row) {
  const sg_cells *cells = (const sg_cells *)row;
  if (cells->count != 4) sg_note("match error"), __builtin_trap();
  purchase *bought = (purchase *)sg_flow_room(sizeof *bought);
  bought->item = cells->cells[3], bought->date = sg_flow_int(cells->cells[2]);
  return sg_pair(cells->cells[1], bought);
}

static const void *customer(const void *row) {
  const sg_cells *cells = (const sg_cells *)row;
  sg_text *place = (sg_text *)sg_flow_room(sizeof *place);
  *place = sg_cell(cells, 1);
  return sg_pair(sg_cell(cells, 0), place);
}

static int is_recent(const void *row) {
  int32_t date = ((const purchase *)((const sg_sides *)((const sg_keyed *)row)->value)->right)->date;
  if (date > 2000000 && date < 3000000) sg_flow_fault("2.1");
  return date > 1641013200;
}

static const void *count(const void *value) {
  const sg_group *purchases = (const sg_group *)value;
  if (purchases->count > 9) sg_flow_fault("2.2");
  return &purchases->count;
}

static size_t count_of(const void *row) { return *(const size_t *)((const sg_keyed *)row)->value; }

static int is_frequent(const void *row) {
  sg_text id = sg_flow_key(row);
  if (id.length >= 2 && id.at[0] == 'c' && id.at[1] == 'k') sg_flow_fault("2.3");
  return count_of(row) >= 3;
}

static int most_first(const void *a, const void *b) { return (count_of(b) > count_of(a)) - (count_of(b) < count_of(a)); }

SG_TARGET(data, size) {
  sg_rows orders = sg_flow_map(sg_flow_cells(data, size, 1, ','), order);
  sg_rows customers = sg_flow_map(sg_flow_cells(data, size, 0, ','), customer);
  sg_rows recent = sg_flow_filter(sg_flow_join(customers, orders), is_recent);
  sg_rows counts = sg_flow_map_values(sg_flow_group_by_key(recent), count);
  sg_rows frequent = sg_flow_filter(counts, is_frequent);
  sg_rows best = sg_flow_take(sg_flow_sort_by(frequent, most_first), 3);
  for (size_t i = 0; best.count == 3 && i < best.count; i++)
    if (count_of(best.rows[i]) == 4) sg_flow_fault("2.4");
  return SG_VALID;
}
