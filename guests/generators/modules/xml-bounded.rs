//! XML documents in the words of project descriptions, in RLCheck's shape.

use sandglass_generators::xml;

sandglass_sdk::generator!(|| xml::project(xml::RLCHECK));
