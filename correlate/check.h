// check.h: assertions for programmer errors, on in release builds too. Bad input is never a programmer
// error: it is data, counted and reported.
#ifndef FIRSTFAULT_CORRELATE_CHECK_H_
#define FIRSTFAULT_CORRELATE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define FF_CHECK(condition)                                                                       \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      std::fprintf(stderr, "firstfault: bug at %s:%d: %s\n", __FILE__, __LINE__, #condition);     \
      std::abort();                                                                               \
    }                                                                                             \
  } while (false)

#endif  // FIRSTFAULT_CORRELATE_CHECK_H_
