#include "mean.h"

#include <vector>

std::optional<int> mean(std::string_view text) {
  if (text.substr(0, 5) != "mean:") return std::nullopt;
  std::vector<int> digits;
  for (char c : text.substr(5)) {
    if (c >= '0' && c <= '9') digits.push_back(c - '0');
  }
  int sum = 0;
  for (int digit : digits) sum += digit;
  return sum / static_cast<int>(digits.size());  // the planted fault: there may be none
}
