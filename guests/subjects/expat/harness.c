// Expat: one document, with handlers for elements, text and declarations.
#include "harness.h"
#include "expat.h"

static volatile unsigned seen;
static void XMLCALL start(void *user, const XML_Char *name, const XML_Char **attributes) {
  (void)user, (void)name;
  for (; *attributes; attributes += 2) seen++;
}
static void XMLCALL end(void *user, const XML_Char *name) { (void)user, (void)name, seen++; }
static void XMLCALL text(void *user, const XML_Char *s, int n) { (void)user, (void)s, seen += (unsigned)n; }
static void XMLCALL comment(void *user, const XML_Char *s) { (void)user, (void)s, seen++; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 1 << 20) return REJECT;
  XML_Parser parser = XML_ParserCreateNS(0, '!');
  if (!parser) return REJECT;
  XML_SetHashSalt(parser, 0x5a17);
  XML_SetParamEntityParsing(parser, XML_PARAM_ENTITY_PARSING_ALWAYS);
  XML_SetElementHandler(parser, start, end);
  XML_SetCharacterDataHandler(parser, text);
  XML_SetCommentHandler(parser, comment);
  enum XML_Status status = XML_Parse(parser, (const char *)data, (int)size, 1);
  XML_ParserFree(parser);
  return status == XML_STATUS_OK ? ACCEPT : REJECT;
}
