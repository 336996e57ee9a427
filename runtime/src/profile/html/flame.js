"use strict";
const flame = document.querySelector(".flame");
if (flame) {
  const frames = [...flame.querySelectorAll(".f")].map((element) => {
    const number = (name) => Number(element.style.getPropertyValue(name));
    return { element, x: number("--x"), w: number("--w"), d: number("--d"), name: element.textContent };
  });
  const says = document.querySelector("#says");
  const zoom = (to) => {
    for (const frame of frames) {
      const isAbove = frame.d < to.d && frame.x <= to.x + 1e-6 && frame.x + frame.w >= to.x + to.w - 1e-6;
      const isWithin = frame.d >= to.d && frame.x >= to.x - 1e-6 && frame.x + frame.w <= to.x + to.w + 1e-6;
      const style = frame.element.style;
      frame.element.classList.toggle("out", !isAbove && !isWithin);
      frame.element.classList.toggle("above", isAbove);
      style.setProperty("--x", isAbove ? 0 : ((frame.x - to.x) * 100) / to.w);
      style.setProperty("--w", isAbove ? 100 : (frame.w * 100) / to.w);
    }
  };
  flame.addEventListener("click", (event) => {
    const frame = frames.find((frame) => frame.element === event.target);
    if (frame) zoom(frame);
  });
  flame.addEventListener("mouseover", (event) => {
    if (event.target.title) says.textContent = event.target.title;
  });
  document.querySelector("#whole").addEventListener("click", () => zoom({ x: 0, w: 100, d: 0 }));
  document.querySelector("#find").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    flame.classList.toggle("dim", wanted !== "");
    // A frame below another that is found is part of that.
    const found = [];
    for (const frame of frames) {
      const isHit = wanted !== "" && frame.name.toLowerCase().includes(wanted);
      frame.element.classList.toggle("hit", isHit);
      if (isHit && !found.some((above) => frame.x >= above.x - 1e-6 && frame.x + frame.w <= above.x + above.w + 1e-6)) found.push(frame);
    }
    const share = found.reduce((sum, frame) => sum + frame.w, 0);
    says.textContent = wanted === "" ? "" : `${share.toFixed(1)} % of the fuel`;
  });
  document.documentElement.dataset.ready = String(frames.length);
}
