//! XML documents in the words of project descriptions, in Zest's shape.

use sandglass_generators::xml;

sandglass_sdk::generator!(|| xml::project(xml::ZEST));
