// A data race on purpose. ThreadSanitizer must report it; where it does not, its silence about the other
// tests means nothing. Built and run in the tsan preset only.
#include <cstdio>
#include <thread>

namespace {
int counter = 0;  // written by two threads without a lock
}  // namespace

int main() {
  std::thread other([] {
    for (int i = 0; i < 1000; ++i) ++counter;
  });
  for (int i = 0; i < 1000; ++i) ++counter;
  other.join();
  std::printf("%d\n", counter);
}
