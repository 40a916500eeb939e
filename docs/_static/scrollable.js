// What is larger than its frame is reached with the Tab key, and scrolled with the arrow keys.
const frames = document.querySelectorAll("pre, .table-wrapper, .math-wrapper");

function updateFrames() {
  for (const frame of frames) {
    const isLarger =
      frame.scrollWidth > frame.clientWidth || frame.scrollHeight > frame.clientHeight;
    if (isLarger) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  }
}

addEventListener("load", updateFrames);
addEventListener("resize", updateFrames);
