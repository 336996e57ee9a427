// Memory errors in C++ with their good twins: see twins.c.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#define CASE static __attribute__((noinline)) void

static void *volatile hidden;
template <class T> static T *hide(T *p) { hidden = (void *)p; return (T *)hidden; }
static volatile int sink;

struct Shape {
  virtual ~Shape() {}
  virtual int area() const { return side * side; }
  int side = 3;
};

// case: heap-overflow CWE-122
CASE array_of_new(bool bad) {
  int *p = hide(new int[8]);
  p[bad ? 8 : 7] = 1; // BAD
  delete[] hide(p);
}

// case: heap-overflow CWE-126
CASE vector_by_index(bool bad) {
  std::vector<int> v(5, 1);
  int *p = hide(v.data());
  sink = p[bad ? 5 : 4]; // BAD
}

// case: use-after-free CWE-416
CASE vector_grown(bool bad) {
  std::vector<int> v(4, 1);
  int *first = hide(&v[0]);
  if (bad) v.resize(1000);
  sink = *first; // BAD
}

// case: use-after-free CWE-416
CASE object_deleted(bool bad) {
  Shape *shape = hide(new Shape);
  if (bad) delete shape;
  sink = shape->side; // BAD
  if (!bad) delete shape;
}

// case: double-free CWE-415
CASE deleted_twice(bool bad) {
  int *p = hide(new int(4));
  delete p;
  if (bad)
    delete hide(p); // BAD
}

// case: use-after-free CWE-416
CASE text_of_a_dead_string(bool bad) {
  auto s = std::make_unique<std::string>(100, 'x');
  const char *p = hide(s->c_str());
  if (bad) s.reset();
  sink = p[50]; // BAD
}

// case: null-access CWE-476
CASE null_object(bool bad) {
  Shape shape;
  Shape *p = hide(bad ? (Shape *)nullptr : &shape);
  sink = p->side; // BAD
}

// case: invalid-free CWE-590
CASE delete_of_a_local(bool bad) {
  int local = 1;
  int *p = bad ? hide(&local) : hide(new int(2));
  delete p; // BAD
}

// case: frame-overflow CWE-121
CASE array_filled_too_far(bool bad) {
  std::array<int, 8> a;
  int *p = hide(a.data());
  memset(p, 0, sink * 0 + (bad ? 200 : 32)); // BAD
  sink = a[3];
}

static void (*const twins[])(bool) = {
    array_of_new, vector_by_index, vector_grown, object_deleted, deleted_twice, text_of_a_dead_string, null_object, delete_of_a_local,
    array_filled_too_far,
};

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2 || data[0] >= sizeof twins / sizeof *twins) return -1;
  twins[data[0]](data[1] == 'b');
  return 0;
}
