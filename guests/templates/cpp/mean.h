#include <optional>
#include <string_view>

/// The mean of the digits in `mean:1,2,3`; nothing if the text is something else.
std::optional<int> mean(std::string_view text);
