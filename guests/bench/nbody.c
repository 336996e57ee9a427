// The n-body problem: five bodies, floating-point arithmetic and square roots, almost no branches.
#include "bench.h"

struct body {
  double x, y, z, vx, vy, vz, mass;
};

#define PI 3.141592653589793
#define SUN (4 * PI * PI)
#define YEAR 365.24

static const struct body START[5] = {
    {0, 0, 0, 0, 0, 0, SUN},
    {4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.00166007664274403694 * YEAR, 0.00769901118419740425 * YEAR, -0.0000690460016972063023 * YEAR, 0.000954791938424326609 * SUN},
    {8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -0.00276742510726411381 * YEAR, 0.00499852801234917238 * YEAR, 0.0000230417297573763929 * YEAR, 0.000285885980666130812 * SUN},
    {12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 0.00296460137564761618 * YEAR, 0.00237847173959480950 * YEAR, -0.0000296589568540237556 * YEAR, 0.0000436624404335156298 * SUN},
    {15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.00268067772490389322 * YEAR, 0.00162824170038242295 * YEAR, -0.0000951592254519715870 * YEAR, 0.0000515138902046611451 * SUN},
};

static struct body bodies[5];

static void advance(double dt) {
  for (int i = 0; i < 5; i++) {
    struct body *a = &bodies[i];
    for (int j = i + 1; j < 5; j++) {
      struct body *b = &bodies[j];
      double dx = a->x - b->x, dy = a->y - b->y, dz = a->z - b->z;
      double square = dx * dx + dy * dy + dz * dz;
      double magnitude = dt / (square * __builtin_sqrt(square));
      a->vx -= dx * b->mass * magnitude, a->vy -= dy * b->mass * magnitude, a->vz -= dz * b->mass * magnitude;
      b->vx += dx * a->mass * magnitude, b->vy += dy * a->mass * magnitude, b->vz += dz * a->mass * magnitude;
    }
  }
  for (int i = 0; i < 5; i++) {
    struct body *a = &bodies[i];
    a->x += dt * a->vx, a->y += dt * a->vy, a->z += dt * a->vz;
  }
}

EXPORT(LLVMFuzzerTestOneInput) int LLVMFuzzerTestOneInput(const u8 *data, u32 size) {
  u32 n = rounds(&data, &size);
  for (int i = 0; i < 5; i++) bodies[i] = START[i];
  for (u32 i = 0; i < n; i++) advance(0.01);
  for (int i = 0; i < 5; i++) mix((u64)(long long)(bodies[i].x * 1e12)), mix((u64)(long long)(bodies[i].vy * 1e12));
  return 0;
}
