#include "coordinator/fold.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "correlate/text.h"

namespace firstfault {
namespace {

template <typename T>
void SortOnce(std::vector<T>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

// Runs of neighbours in sorted numbers, each padded with zeros to `width`.
std::string Runs(const std::vector<int32_t>& sorted, size_t width, std::string_view separator) {
  const auto padded = [&](int32_t number) {
    const std::string digits = std::to_string(number);
    return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
  };
  std::string out;
  for (size_t i = 0, next; i < sorted.size(); i = next) {
    for (next = i + 1; next < sorted.size() && sorted[next] == sorted[next - 1] + 1;) ++next;
    out += Cat(out.empty() ? "" : separator, padded(sorted[i]));
    if (next - i > 1) out += Cat('-', padded(sorted[next - 1]));
  }
  return out;
}

// Hosts that differ in one number only: "gpu-", 2 digits, ".example".
using Family = std::tuple<std::string_view, size_t, std::string_view>;

}  // namespace

std::string FoldNumbers(std::vector<int32_t> numbers) {
  SortOnce(&numbers);
  return Runs(numbers, 0, ", ");
}

std::string FoldHosts(std::vector<std::string> hosts) {
  SortOnce(&hosts);
  std::map<Family, std::vector<int32_t>> families;
  std::vector<std::string> out;
  for (const std::string_view host : hosts) {
    // The last number of the first label; addresses have no first label, their last part is the number.
    const bool address = host.find_first_not_of("0123456789.") == std::string_view::npos;
    const size_t label = address ? host.size() : std::min(host.find('.'), host.size());
    const size_t end = host.find_last_of("0123456789", label == 0 ? 0 : label - 1);
    const size_t before = end == std::string_view::npos ? end : host.find_last_not_of("0123456789", end);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const auto number = end == std::string_view::npos
                            ? std::nullopt
                            : ParseNumber<int32_t>(host.substr(begin, end + 1 - begin));
    if (!number || end >= label) {
      out.emplace_back(host);
    } else {
      families[{host.substr(0, begin), end + 1 - begin, host.substr(end + 1)}].push_back(*number);
    }
  }
  for (auto& [family, numbers] : families) {
    const auto& [prefix, width, suffix] = family;
    std::sort(numbers.begin(), numbers.end());
    const std::string runs = Runs(numbers, width, ",");
    out.push_back(numbers.size() == 1 ? Cat(prefix, runs, suffix) : Cat(prefix, '[', runs, ']', suffix));
  }
  std::sort(out.begin(), out.end());
  return FoldNames(out, out.size());
}

std::string FoldNames(const std::vector<std::string>& names, size_t shown_max) {
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), shown_max); ++i) out += Cat(i == 0 ? "" : ", ", names[i]);
  if (names.size() > shown_max) out += Cat(" and ", names.size() - shown_max, " more");
  return out;
}

}  // namespace firstfault
