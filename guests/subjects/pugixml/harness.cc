// pugixml: the first line is an XPath query, the rest a document.
#include "harness.h"
#include "pugixml.hpp"
#include <string.h>
#include <string>

HARNESS int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const void *line = memchr(data, '\n', size);
  if (!line) return REJECT;
  size_t length = static_cast<size_t>(static_cast<const uint8_t *>(line) - data);
  pugi::xml_document document;
  if (!document.load_buffer(data + length + 1, size - length - 1, pugi::parse_full)) return REJECT;
  std::string text(reinterpret_cast<const char *>(data), length);
  pugi::xpath_query query(text.c_str());
  if (!query) return REJECT;
  if (query.return_type() == pugi::xpath_type_node_set) query.evaluate_node_set(document);
  else query.evaluate_string(document);
  return ACCEPT;
}
