"use strict";
// A link to a file opens it.
const openFile = () => {
  const file = location.hash && document.getElementById(location.hash.slice(1));
  if (file && file.tagName === "DETAILS") file.open = true;
};
addEventListener("hashchange", openFile);
openFile();
document.documentElement.dataset.ready = String(document.querySelectorAll("details.file").length);
