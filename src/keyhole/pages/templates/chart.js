// Charts: values on hover, touch and arrow keys; switches that hide curves.
(() => {
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // Writes a number as `format_number` does.
  function format(value, unit) {
    if (value === null || value === undefined) return "unknown";
    const size = Math.abs(value);
    const text = size && (size < 1e-5 || size >= 1e12)
      ? value.toExponential().replace("e+", "e")
      : value.toLocaleString("en-US", { maximumFractionDigits: 20 });
    return unit ? `${text} ${unit}` : text;
  }

  function makeScale({ low, high, log }) {
    const transform = log ? Math.log : value => value;
    const [from, to] = [transform(low), transform(high)];
    return value => (log && value <= 0 ? 0 : (transform(value) - from) / (to - from));
  }

  class Chart {
    constructor(figure, frame) {
      this.figure = figure;
      this.data = JSON.parse(frame.querySelector(".chart-data").textContent);
      this.x = makeScale(this.data.x);
      this.y = makeScale(this.data.y);
      this.curves = this.data.curves.map(curve => this.readCurve(curve));
      this.plot = frame.querySelector(".chart-plot");
      this.current = null; // [curve, index of its point]
      if (this.curves.some(curve => curve.points.length)) this.addPointer();
    }

    readCurve(curve) {
      const places = this.data.places[curve.x];
      const points = curve.y.flatMap((y, i) => (y === null || places[i] === null ? [] : [{
        x: places[i], y, low: curve.low?.[i] ?? null, high: curve.high?.[i] ?? null,
        left: this.x(places[i]) + (curve.shift ?? 0), up: this.y(y),
      }])).filter(({ left }) => left >= -1e-9 && left <= 1 + 1e-9);
      const parts = [...this.figure.querySelectorAll("[data-label]")]
        .filter(part => part.dataset.label === curve.label && !part.closest(".chart-legend"));
      const group = parts.find(part => part.classList.contains("curve"));
      return { ...curve, points, parts, group, isOff: false };
    }

    addPointer() {
      this.pointer = document.createElement("div");
      this.pointer.className = "chart-pointer";
      this.pointer.tabIndex = 0;
      this.pointer.setAttribute("role", "application");
      this.pointer.setAttribute("aria-roledescription", "chart");
      const name = this.figure.querySelector(".chart-picture").getAttribute("aria-label");
      this.pointer.setAttribute("aria-label",
        `Values: ${name}. Left and right: along a curve. Up and down: other curves. Escape: close.`);
      const add = name => {
        const part = document.createElement("div");
        part.className = name;
        part.hidden = name !== "chart-tooltip";
        this.pointer.append(part);
        return part;
      };
      this.whisker = add("chart-whisker");
      this.dot = add("chart-dot");
      this.tooltip = add("chart-tooltip");
      this.tooltip.setAttribute("aria-live", "polite");
      this.plot.append(this.pointer);

      for (const kind of ["pointermove", "pointerdown"])
        this.pointer.addEventListener(kind, event => this.touch(event));
      this.pointer.addEventListener("pointerleave", event => {
        if (event.pointerType === "mouse") this.close();
      });
      this.pointer.addEventListener("blur", () => this.close());
      this.pointer.addEventListener("keydown", event => this.press(event));
    }

    // Returns the index of the point nearest to a place or, with steps, of the last point before it.
    indexAt(curve, left) {
      let best = 0;
      curve.points.forEach((point, i) => {
        const isNearer = Math.abs(point.left - left) < Math.abs(curve.points[best].left - left);
        if (curve.steps ? point.left <= left : isNearer) best = i;
      });
      return best;
    }

    get visible() {
      return this.curves.filter(curve => curve.points.length && !curve.isOff);
    }

    touch(event) {
      const box = this.pointer.getBoundingClientRect();
      const left = (event.clientX - box.left) / box.width;
      const up = 1 - (event.clientY - box.top) / box.height;
      let best = null;
      for (const curve of this.visible) {
        const index = this.indexAt(curve, left);
        const point = curve.points[index];
        // Points beside the pointer are farther away, but a step holds until the next one.
        const away = curve.steps ? 0 : Math.abs(point.left - left) * box.width;
        const distance = Math.hypot((point.up - up) * box.height, away);
        if (!best || distance < best.distance - 1e-9) best = { distance, curve, index };
      }
      if (best) this.show(best.curve, best.index);
    }

    press(event) {
      if (event.key === "Escape") return this.close();
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 1, ArrowDown: -1, Home: -Infinity, End: Infinity };
      if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey || !this.visible.length) return;
      event.preventDefault();
      if (!this.current || this.current[0].isOff) {
        const first = this.visible.find(curve => curve.group?.classList.contains("coloured")) ?? this.visible[0];
        return this.show(first, first.points.length - 1);
      }
      const [curve, index] = this.current;
      const move = moves[event.key];
      if (event.key !== "ArrowUp" && event.key !== "ArrowDown")
        return this.show(curve, clamp(index + move, 0, curve.points.length - 1));
      const left = curve.points[index].left;
      const height = other => other.points[other === curve ? index : this.indexAt(other, left)].up;
      const order = this.visible.sort((a, b) => height(a) - height(b));
      const next = order[clamp(order.indexOf(curve) + move, 0, order.length - 1)];
      this.show(next, next === curve ? index : this.indexAt(next, left));
    }

    show(curve, index) {
      if (this.current?.[0] === curve && this.current[1] === index) return;
      if (this.current?.[0] !== curve) {
        this.close();
        for (const part of curve.parts) part.classList.add("touched");
        this.drawBand(curve);
      }
      this.current = [curve, index];
      const point = curve.points[index];
      const up = clamp(point.up, 0, 1);
      const colour = [...(curve.group?.classList ?? [])].find(name => /^c\d$/.test(name)) ?? "";
      for (const [part, name] of [[this.dot, "dot"], [this.whisker, "whisker"], [this.tooltip, "tooltip"]]) {
        part.className = `chart-${name} ${colour}`;
        part.style.left = `${point.left * 100}%`;
      }
      this.dot.hidden = point.up !== up;
      this.dot.style.top = `${(1 - up) * 100}%`;
      this.whisker.hidden = point.high === null;
      if (!this.whisker.hidden) {
        const [low, high] = [this.lowerEnd(point), this.y(point.high)].map(end => clamp(end, 0, 1));
        this.whisker.style.top = `${(1 - high) * 100}%`;
        this.whisker.style.height = `${(high - low) * 100}%`;
      }
      this.writeTooltip(curve, point);
      this.placeTooltip(point.left, up);
    }

    writeTooltip(curve, point) {
      const { x, y } = this.data;
      const name = document.createElement("b");
      name.textContent = curve.label;
      const lines = [`${x.title} ${format(point.x, x.unit)}`, `${y.title}: ${format(point.y, y.unit)}`];
      if (point.high !== null) {
        const from = point.low === null ? "up" : format(point.low, y.unit);
        lines.push(`95 % interval: ${from} to ${format(point.high, y.unit)}`);
      }
      if (curve.note) lines.push(curve.note);
      this.tooltip.replaceChildren(name, ...lines.map(line => {
        const part = document.createElement("span");
        part.textContent = line;
        return part;
      }));
    }

    // Places the tooltip beside the point, within the window.
    placeTooltip(left, up) {
      const box = this.pointer.getBoundingClientRect();
      const { offsetWidth: width, offsetHeight: height } = this.tooltip;
      const windowWidth = document.documentElement.clientWidth;
      const at = left * box.width;
      let x = left > .5 ? at - width - 14 : at + 14;
      x = clamp(x, 4 - box.left, Math.max(windowWidth - width - 4 - box.left, 4 - box.left));
      let y = (1 - up) * box.height - height / 2;
      // If there is no room beside the point, the tooltip is above or below it.
      if (x < at + 6 && x + width > at - 6) y += (height / 2 + 18) * (up > .5 ? 1 : -1);
      this.tooltip.style.left = `${x}px`;
      this.tooltip.style.top = `${y}px`;
    }

    // Returns how far up an interval's lower end is: 0, the end of the axis, if the interval is open below.
    lowerEnd(point) {
      return point.low === null ? 0 : this.y(point.low);
    }

    // Draws the band of a grey curve, which has one only while it is touched.
    drawBand(curve) {
      if (!curve.group || curve.group.querySelector(".band") || !curve.low) return;
      const box = curve.group.ownerSVGElement.viewBox.baseVal;
      const place = (point, up) =>
        `${(point.left * box.width).toFixed(1)} ${((1 - clamp(up, -4, 5)) * box.height).toFixed(1)}`;
      const bounded = curve.points.filter(point => point.high !== null);
      if (curve.steps || bounded.length < 2 || bounded.length < curve.points.length) return;
      const corners = [...bounded.map(point => place(point, this.y(point.high))), ...bounded.reverse().map(point => place(point, this.lowerEnd(point)))];
      this.band = document.createElementNS("http://www.w3.org/2000/svg", "path");
      this.band.setAttribute("class", "band");
      this.band.setAttribute("d", `M${corners.join("L")}z`);
      curve.group.prepend(this.band);
    }

    close() {
      if (!this.current) return;
      for (const part of this.current[0].parts) part.classList.remove("touched");
      this.band?.remove();
      this.band = this.current = null;
      this.dot.hidden = this.whisker.hidden = true;
      this.tooltip.replaceChildren();
    }

    setVisible(label, isVisible) {
      for (const curve of this.curves.filter(each => each.label === label)) {
        curve.isOff = !isVisible;
        for (const part of curve.parts) part.classList.toggle("off", !isVisible);
        if (this.current?.[0] === curve) this.close();
      }
    }
  }

  function addSwitches(root, charts) {
    const buttons = [...root.querySelectorAll(".chart-legend li")].map(item => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Show or hide; double click: only this one";
      button.append(...item.childNodes);
      button.dataset.label = item.dataset.label;
      item.removeAttribute("data-label");
      item.append(button);
      return button;
    });
    const set = (button, isOn) => {
      button.setAttribute("aria-pressed", isOn);
      for (const chart of charts) chart.setVisible(button.dataset.label, isOn);
    };
    const isOn = button => button.getAttribute("aria-pressed") === "true";
    for (const button of buttons) {
      set(button, true);
      button.addEventListener("click", () => set(button, !isOn(button)));
      // A double click on the only visible curve shows all curves again.
      button.addEventListener("dblclick", () => {
        const isAlone = buttons.every(other => isOn(other) === (other === button));
        for (const other of buttons) set(other, isAlone || other === button);
      });
    }
    const summary = root.querySelector(":scope > .chart-switches > summary");
    if (summary) summary.textContent = "Hide curves";
  }

  for (const root of document.querySelectorAll("[data-switches]")) {
    const figures = root.matches(".chart") ? [root] : [...root.querySelectorAll(".chart")];
    const charts = figures.map(figure => new Chart(figure, figure.querySelector(".chart-frame")));
    addSwitches(root, charts);
  }

})();
