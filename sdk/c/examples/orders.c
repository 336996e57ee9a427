// A dataflow program: customers (data set 0: id, name) with three orders or more (data set 1: number, customer). A customer with
// 37 of them is the planted bug.
#include "../sandglass_flow.h"

static const void *by_id(const void *row) { return sg_pair(sg_cell((const sg_cells *)row, 0), row); }
static const void *by_customer(const void *row) { return sg_pair(sg_cell((const sg_cells *)row, 1), row); }

static int is_frequent(const void *row) {
  const sg_group *orders = (const sg_group *)((const sg_keyed *)row)->value;
  if (orders->count == 37) sg_flow_fault("37 orders");
  return orders->count >= 3;
}

SG_TARGET(data, size) {
  sg_rows customers = sg_flow_map(sg_flow_cells(data, size, 0, ','), by_id);
  sg_rows orders = sg_flow_map(sg_flow_cells(data, size, 1, ','), by_customer);
  sg_rows groups = sg_flow_group_by_key(sg_flow_join(customers, orders));
  return sg_flow_filter(groups, is_frequent).count > 0 ? SG_VALID : SG_INVALID;
}
