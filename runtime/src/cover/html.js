"use strict";
// A link to a file opens it.
const open = () => {
  const file = location.hash && document.getElementById(location.hash.slice(1));
  if (file && file.tagName === "DETAILS") file.open = true;
};
addEventListener("hashchange", open);
open();
document.documentElement.dataset.ready = String(document.querySelectorAll("details.file").length);
