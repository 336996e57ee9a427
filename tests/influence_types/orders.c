// Orders read from bytes: what each branch depends on can be told by reading. Freestanding; nothing is inlined.

typedef unsigned char u8;
typedef unsigned int u32;
#define KEEP __attribute__((noinline))

struct reader { const u8 *at, *end; };
struct region { int tax; };
struct customer { int vip; struct region region; };
struct item { int price, count; struct item *next; };
enum state { OPEN = 0, PAID = 7, SENT = 9 };
struct order { struct item *items; struct customer *customer; enum state state; int total; };
struct event { int kind; union { int code; u8 bytes[4]; } payload; int rest[6]; };
typedef struct { int x, y; } point;

struct config { int limit, strict; };
struct config config = {3, 1};
struct item items[4];
struct customer customers[2];
int log_of[64];

KEEP int read_byte(struct reader *r) {
  if (r->at == r->end) return -1;
  return *r->at++;
}

KEEP struct event read_event(struct reader *r) {
  struct event e = {0};
  e.kind = read_byte(r);
  e.payload.code = read_byte(r);
  return e;
}

KEEP int read_number(struct reader *r, int *out) {
  int digit = read_byte(r);
  if (digit < '0') return 0;
  *out = digit - '0';
  return 1;
}

KEEP int is_vip(struct order *o) {
  if (o->customer->vip) return log_of[14]++;
  return log_of[15]--;
}

KEEP int tax_of(struct customer *c) { return c->region.tax; }

KEEP int taxed(struct order *o) {
  if (tax_of(o->customer) > 20) return log_of[16]++;
  return log_of[17]--;
}

KEEP struct item *find(struct order *o, int price) {
  for (struct item *i = o->items; i; i = i->next) {
    if (i->price == price) return i;
  }
  return 0;
}

KEEP int describe(struct order *o) {
  switch (o->state) {
  case OPEN: return log_of[1]++;
  case PAID: return log_of[2]--;
  case SENT: return log_of[3] += 5;
  }
  return 9;
}

KEEP int check(int total) {
  if (total > 1000) return log_of[4]++;
  return log_of[5]--;
}

KEEP int allowed(int wanted) {
  if (wanted > config.limit) return log_of[6]++;
  return 1;
}

KEEP int right_of(point *p) {
  if (p->x > p->y) return log_of[7]++;
  return log_of[8]--;
}

KEEP int odd(u32 n) {
  if (n & 2) return log_of[9]++;
  return log_of[10]--;
}

__attribute__((export_name("LLVMFuzzerTestOneInput"))) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  struct reader r = {data, data + size};
  struct order o;
  o.items = items;
  o.customer = customers;
  if (size < 8) return odd(size);
  struct event e = read_event(&r);
  if (e.kind == 3) log_of[11]++;
  if (e.payload.code == 4) log_of[12]++;
  int number = 0;
  if (!read_number(&r, &number)) return -1;
  if (number == 5) log_of[13]++;
  o.state = (enum state)read_byte(&r);
  o.total = e.kind * number;
  struct item *found = find(&o, number);
  if (found) found->count++;
  point p = {number, e.kind};
  return is_vip(&o) + taxed(&o) + describe(&o) + check(o.total) + allowed(number) + right_of(&p);
}
