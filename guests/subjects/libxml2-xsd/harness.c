// libxml2: parses a document and validates it by a fixed schema, which is parsed before the snapshot.
#include "harness.h"
#include "sandglass.h"
#include <libxml/parser.h>
#include <libxml/xmlerror.h>
#include <libxml/xmlschemas.h>

static const char schema_text[] =
#include "project.xsd.h"
  ;

static xmlSchemaPtr schema;

static void quiet(void *user, const char *format, ...) { (void)user, (void)format; }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  xmlInitParser();
  xmlSetGenericErrorFunc(0, quiet);
  xmlSchemaParserCtxtPtr parser = xmlSchemaNewMemParserCtxt(schema_text, sizeof schema_text - 1);
  schema = xmlSchemaParse(parser);
  xmlSchemaFreeParserCtxt(parser);
  if (!schema) __builtin_trap(); // The schema is ours: without it there is nothing to measure.
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 1 << 20) return REJECT;
  xmlDocPtr doc = xmlReadMemory((const char *)data, (int)size, "input", 0, XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
  int errors = 1;
  if (doc) {
    sg_stage(1);
    xmlSchemaValidCtxtPtr validator = xmlSchemaNewValidCtxt(schema);
    if (validator) errors = xmlSchemaValidateDoc(validator, doc);
    xmlSchemaFreeValidCtxt(validator);
    xmlFreeDoc(doc);
  }
  xmlResetLastError();
  return errors == 0 ? ACCEPT : REJECT;
}
