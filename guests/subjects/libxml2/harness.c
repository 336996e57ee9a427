// libxml2: an even first byte makes the rest XML, an odd one HTML; the tree is written out again.
#include "harness.h"
#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>

static void quiet(void *user, const char *format, ...) { (void)user, (void)format; }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  xmlInitParser();
  xmlSetGenericErrorFunc(0, quiet);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1 || size > 1 << 20) return REJECT;
  const char *text = (const char *)data + 1;
  int length = (int)size - 1, quietly = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;
  xmlDocPtr doc = data[0] & 1 ? htmlReadMemory(text, length, "input", 0, quietly)
                              : xmlReadMemory(text, length, "input", 0, quietly | XML_PARSE_NOENT | XML_PARSE_DTDATTR);
  if (doc) {
    xmlChar *out;
    int out_length;
    xmlDocDumpMemory(doc, &out, &out_length);
    xmlFree(out);
    xmlFreeDoc(doc);
  }
  xmlResetLastError();
  return doc ? ACCEPT : REJECT;
}
