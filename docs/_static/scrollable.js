// What is larger than its frame is reached with the Tab key, scrolled with the arrow keys, and marked
// at the edges behind which there is more.
const frames = document.querySelectorAll("pre, .table-wrapper, .math-wrapper");

function updateFrame(frame) {
  const hidden = frame.scrollWidth - frame.clientWidth;
  if (hidden > 0 || frame.scrollHeight > frame.clientHeight) frame.tabIndex = 0;
  else frame.removeAttribute("tabindex");
  // A pixel may be missing at the end, since places are rounded.
  frame.classList.toggle("more-left", frame.scrollLeft > 1);
  frame.classList.toggle("more-right", frame.scrollLeft < hidden - 1);
}

function updateFrames() {
  frames.forEach(updateFrame);
}

for (const frame of frames) {
  frame.addEventListener("scroll", () => updateFrame(frame), { passive: true });
}
addEventListener("load", updateFrames);
addEventListener("resize", updateFrames);
// What was folded had no size before.
document.addEventListener("toggle", updateFrames, true);
