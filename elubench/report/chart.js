// Draws a figure's numbers in place of its picture: hover or arrow keys name a point, the legend switches
// curves. Without this script the picture stays, and on paper it returns.
(() => {
  "use strict";
  const LEFT = 62, RIGHT = 14, TOP = 12, BOTTOM = 46, NEAR = 40;
  const text = (value) => String(value).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const raised = (k) => [...String(k)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("");

  function element(tag, attributes, inside = "") {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.innerHTML = inside;
    return made;
  }

  function toggle(label, pressed, change, inside) {
    const button = element("button", { type: "button", "aria-pressed": pressed }, inside || text(label));
    button.addEventListener("click", () => {
      pressed = !pressed;
      button.setAttribute("aria-pressed", pressed);
      change(pressed);
    });
    return button;
  }

  function tick(value, logarithmic) {
    const k = Math.floor(Math.log10(Math.abs(value)) + 1e-9), head = value / 10 ** k;
    if (value && (value >= 1e5 || value < 1e-3 || (logarithmic && value >= 1e4)))
      return (Math.abs(head - 1) < 1e-6 ? "" : `${+head.toFixed(2)}·`) + `10${raised(k)}`;
    return value.toLocaleString("en", { maximumSignificantDigits: 3 });
  }

  function ticks(low, high, logarithmic, most) {
    if (logarithmic) {
      const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
      const digits = last - first < 1 ? [1, 1.5, 2, 3, 5, 7] : last - first < 2 ? [1, 2, 5] : [1];
      const stride = Math.max(1, Math.ceil((last - first + 1) / most)), made = [];
      for (let k = first - 1; k <= last; k++)
        for (const digit of digits) {
          const value = digit * 10 ** k;
          if (k % stride === 0 && value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) made.push(value);
        }
      return made;
    }
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= raw), made = [];
    for (let value = Math.ceil(low / step) * step; value <= high * (1 + 1e-9); value += step) made.push(value);
    return made;
  }

  function scale(values, logarithmic, from, to) {
    let low = Math.min(...values), high = Math.max(...values);
    const turn = logarithmic ? Math.log10 : Number;
    if (!logarithmic) low = 0;
    let [a, b] = [turn(low), turn(high)];
    const room = 0.04 * (b - a) || 0.5;
    [a, b] = [logarithmic ? a - room : a, b + room];
    const place = (value) => from + ((turn(value) - a) / (b - a)) * (to - from);
    return Object.assign(place, { low: logarithmic ? 10 ** a : a, high: logarithmic ? 10 ** b : b });
  }

  function live(figure, data) {
    const off = new Set();
    let panel = data.panels[0], logarithmic = true, chosen = null, shown = [];
    const names = [...new Set(data.panels.flatMap((one) => one.curves.map((curve) => curve.name)))];
    const root = element("div", { class: "chart" });
    const legend = element("div", { class: "legend", role: "group", "aria-label": "Curves" });
    const tools = element("div", { class: "tools", role: "group", "aria-label": "Panel and scale" });
    const plot = element("div", { class: "plot", tabindex: 0, role: "application" });
    const tip = element("p", { class: "tip", role: "status" });

    if (data.panels.length > 1) {
      const choice = element("select", {}, data.panels.map((one) => `<option>${text(one.name)}</option>`).join(""));
      choice.addEventListener("change", () => { panel = data.panels[choice.selectedIndex]; draw(); });
      const label = element("label", {}, "Show ");
      label.append(choice);
      tools.append(label);
    }
    tools.append(toggle("Linear scale", false, (on) => { logarithmic = !on; draw(); }));
    tools.append(toggle("Picture, too", false, (on) => figure.classList.toggle("both", on)));
    for (const name of names) {
      const curve = data.panels.flatMap((one) => one.curves).find((one) => one.name === name);
      const swatch = `<svg width="30" height="12" aria-hidden="true">${line(curve, "M1 6H29")}${mark(curve, 15, 6)}</svg>`;
      legend.append(toggle(name, true, (on) => { on ? off.delete(name) : off.add(name); draw(); }, swatch + text(name)));
    }

    function line(curve, path) {
      return `<path d="${path}" fill="none" stroke="${curve.colour}" stroke-width="${curve.width}" stroke-dasharray="${curve.dash}"/>`;
    }
    function mark(curve, x, y, kind) {
      const shape = kind === "lost" ? "M0 .6V-.7M-.4 -.2L0 -.7L.4 -.2" : curve.marker;
      const fill = kind === "hollow" ? "#fff" : kind === "lost" ? "none" : curve.colour;
      return `<path d="${shape}" transform="translate(${x} ${y}) scale(8)" fill="${fill}" stroke="${curve.colour}" stroke-width=".16"/>`;
    }

    function draw() {
      const width = Math.max(280, plot.clientWidth), height = Math.min(420, Math.max(280, 0.55 * width));
      const curves = panel.curves.filter((curve) => !off.has(curve.name) && curve.points.length);
      const points = curves.flatMap((curve) => curve.points);
      plot.setAttribute("aria-label", `${panel.label} against n, ${panel.name}. Left and right change n, up and down the curve.`);
      shown = [];
      if (!points.length) { plot.innerHTML = "<p>No curve is switched on.</p>"; return choose(null); }
      const x = scale(points.map((one) => one.x), true, LEFT, width - RIGHT);
      const y = scale(points.flatMap((one) => [one.y, one.low || one.y, one.high]), logarithmic, height - BOTTOM, TOP);
      const parts = [];
      for (const value of ticks(x.low, x.high, true, width / 60))
        parts.push(`<path class="grid" d="M${x(value)} ${TOP}V${height - BOTTOM}"/><text x="${x(value)}" y="${height - BOTTOM + 17}" text-anchor="middle">${tick(value, true)}</text>`);
      for (const value of ticks(y.low, y.high, logarithmic, height / 50))
        parts.push(`<path class="grid" d="M${LEFT} ${y(value)}H${width - RIGHT}"/><text x="${LEFT - 7}" y="${y(value) + 4}" text-anchor="end">${tick(value, logarithmic)}</text>`);
      parts.push(`<text x="${(LEFT + width - RIGHT) / 2}" y="${height - 8}" text-anchor="middle">sample size n</text>`);
      parts.push(`<text transform="translate(13 ${(TOP + height - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${text(panel.label)}</text>`);
      for (const curve of [...curves].reverse()) {
        const known = curve.points.filter((one) => one.kind !== "lost");
        parts.push(line(curve, known.map((one, k) => `${k ? "L" : "M"}${x(one.x)} ${y(one.y)}`).join("")));
        for (const one of curve.points) {
          if (one.high > one.low)
            parts.push(`<path d="M${x(one.x)} ${y(one.low || one.y)}V${y(one.high)}" stroke="${curve.colour}" stroke-opacity=".6"/>`);
          parts.push(mark(curve, x(one.x), y(one.y), one.kind));
        }
      }
      shown = curves.map((curve) => curve.points.map((one) => ({ ...one, left: x(one.x), top: y(one.y) })));
      plot.innerHTML = `<svg width="${width}" height="${height}" aria-hidden="true">${parts.join("")}<circle r="8"/></svg>`;
      choose(null);
    }

    function choose(at) {
      chosen = at;
      const one = at && shown[at[0]][at[1]], ring = plot.querySelector("circle");
      tip.textContent = one ? one.text : "Hover over a point, or use the arrow keys.";
      if (!ring) return;
      ring.style.display = one ? "" : "none";
      if (one) { ring.setAttribute("cx", one.left); ring.setAttribute("cy", one.top); }
    }

    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      let best = NEAR, at = null;
      shown.forEach((points, i) => points.forEach((one, j) => {
        const far = Math.hypot(one.left - event.clientX + box.left, one.top - event.clientY + box.top);
        if (far < best) [best, at] = [far, [i, j]];
      }));
      choose(at);
    });
    plot.addEventListener("keydown", (event) => {
      const [along, across] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] || [];
      if (event.key === "Escape") choose(null);
      if (along === undefined || !shown.length) return;
      event.preventDefault();
      if (!chosen) return choose([0, 0]);
      const [i, j] = chosen, next = (i + across + shown.length) % shown.length, n = shown[i][j].x;
      const near = shown[next].reduce((best, one, k) => (Math.abs(Math.log(one.x / n)) < Math.abs(Math.log(shown[next][best].x / n)) ? k : best), 0);
      choose(across ? [next, near] : [i, Math.min(shown[i].length - 1, Math.max(0, j + along))]);
    });

    root.append(tools, legend, plot, tip);
    figure.prepend(root);
    figure.classList.add("live");
    new ResizeObserver(() => { if (plot.clientWidth) draw(); }).observe(plot);
    draw();
  }

  for (const data of document.querySelectorAll("figure > script.numbers"))
    live(data.parentElement, JSON.parse(data.textContent));
})();
