// What is larger than its frame is reached with the Tab key, scrolled with the arrow keys, and marked
// at the edges behind which there is more.
for (const table of document.querySelectorAll(".table-wrapper")) {
  const frame = document.createElement("div"); // has the marks, which must not scroll
  frame.className = "table-frame";
  table.replaceWith(frame);
  frame.append(table);
}

const frames = document.querySelectorAll("pre, .table-wrapper, .math-wrapper");

function updateEdges(frame) {
  // A pixel may be missing at the end, since places are rounded.
  frame.classList.toggle("more-left", frame.scrollLeft > 1);
  frame.classList.toggle("more-right", frame.scrollLeft < frame.scrollWidth - frame.clientWidth - 1);
}

function updateFrame(frame) {
  frame.classList.remove("wide"); // it changes the width of tables
  const isWide = frame.scrollWidth > frame.clientWidth;
  frame.classList.toggle("wide", isWide);
  if (isWide || frame.scrollHeight > frame.clientHeight) frame.tabIndex = 0;
  else frame.removeAttribute("tabindex");
  updateEdges(frame);
}

function updateFrames() {
  frames.forEach(updateFrame);
}

for (const frame of frames) {
  frame.addEventListener("scroll", () => updateEdges(frame), { passive: true });
}
addEventListener("load", updateFrames);
addEventListener("resize", updateFrames);
// What was folded had no size before.
document.addEventListener("toggle", updateFrames, true);
