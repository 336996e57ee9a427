// TinyXML-2: parses a document and prints it again.
#include "harness.h"
#include "tinyxml2.h"

HARNESS int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tinyxml2::XMLDocument document;
  if (document.Parse(reinterpret_cast<const char *>(data), size) != tinyxml2::XML_SUCCESS) return REJECT;
  tinyxml2::XMLPrinter printer;
  document.Print(&printer);
  return ACCEPT;
}
