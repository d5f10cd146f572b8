#pragma once
/// CHECK(cond): always on; for our own bugs, never for bad input or disk content.

#include <cstdio>
#include <cstdlib>

#define CHECK(cond)                                                                             \
  do {                                                                                          \
    if (!(cond)) [[unlikely]] {                                                                 \
      static_cast<void>(std::fprintf(stderr, "spool: bug: %s:%d: %s does not hold\n", __FILE__, \
                                     __LINE__, #cond));                                         \
      std::abort();                                                                             \
    }                                                                                           \
  } while (false)
