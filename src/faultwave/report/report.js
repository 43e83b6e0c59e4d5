// Draws the figures of a report from the data beside them. Nothing is fetched.
"use strict";
(function () {
  const COLOURS = ["#1f4e79", "#c8553d", "#3a7d44", "#7d5ba6", "#b8860b", "#5f6b76"];
  const BASE = {
    font: { family: "system-ui, sans-serif", size: 13, color: "#222222" }, margin: { l: 75, r: 25, t: 30, b: 55 },
    paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", colorway: COLOURS, legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
  };
  const CONFIG = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };

  const content = (div) => JSON.parse(document.getElementById(div.id + "-data").textContent);
  const styled = (axis) => Object.assign({ gridcolor: "#e8ecef", zeroline: false, automargin: true, exponentformat: "power" }, axis);

  function layoutOf(given) {
    const layout = Object.assign({}, BASE, given);
    layout.xaxis = styled(layout.xaxis);
    layout.yaxis = styled(layout.yaxis);
    return layout;
  }

  function failed(div, error) {
    const note = document.createElement("p");
    note.className = "problem";
    note.textContent = "This figure could not be drawn: " + error.message;
    div.replaceChildren(note);
    console.error(error);
  }

  function draw(div) {
    const { data, layout } = content(div);
    return Plotly.newPlot(div, data, layoutOf(layout), CONFIG);
  }

  function decoded(values) {
    const bytes = Uint8Array.from(atob(values.bdata), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  }

  // One second-order section of a Butterworth filter by the bilinear transform; kind 'low' or 'high', w = corner / sampling rate.
  function section(kind, w, quality) {
    const k = Math.tan(Math.PI * w), norm = 1 / (1 + k / quality + k * k);
    const b0 = kind === "low" ? k * k * norm : norm;
    return [b0, kind === "low" ? 2 * b0 : -2 * b0, b0, 2 * (k * k - 1) * norm, (1 - k / quality + k * k) * norm];
  }

  function once(values, [b0, b1, b2, a1, a2]) {
    const out = new Float64Array(values.length);
    // as if the first value had stood for ever: no step at the start
    let x1 = values[0], x2 = values[0], gain = (b0 + b1 + b2) / (1 + a1 + a2), y1 = gain * values[0], y2 = y1;
    for (let i = 0; i < values.length; i++) {
      const y = b0 * values[i] + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2;
      x2 = x1; x1 = values[i]; y2 = y1; y1 = y;
      out[i] = y;
    }
    return out;
  }

  // Butterworth of order four (two sections), forwards and then backwards: no shift in time.
  function filtered(values, kind, w) {
    const sections = [0.541196100146197, 1.306562964876377].map((quality) => section(kind, w, quality));
    const pass = (given) => sections.reduce(once, given);
    return pass(pass(Float64Array.from(values)).reverse()).reverse();
  }

  function control(label, element) {
    const wrap = document.createElement("label");
    wrap.append(label, element);
    return wrap;
  }

  function numberBox(name) {
    const box = document.createElement("input");
    box.type = "number"; box.min = "0"; box.step = "any"; box.placeholder = "none"; box.name = name;
    return box;
  }

  function browser(div) {
    const { stations, quantities, runs, title } = content(div);
    const names = Object.keys(quantities);
    const controls = document.createElement("div"), figure = document.createElement("div"), peaks = document.createElement("div");
    controls.className = "controls"; peaks.className = "table"; peaks.setAttribute("aria-live", "polite");
    const select = document.createElement("select");
    stations.forEach((name, i) => select.add(new Option(name, i)));
    const previous = document.createElement("button"), next = document.createElement("button");
    previous.type = next.type = "button"; previous.textContent = "previous"; next.textContent = "next";
    const low = numberBox("low-pass"), high = numberBox("high-pass");
    const fields = document.createElement("fieldset"), legend = document.createElement("legend");
    legend.textContent = "quantities"; fields.append(legend);
    const first = names.filter((n) => ["v1", "v2", "v3", "SRs", "SRd"].includes(n));
    const boxes = names.map((name) => {
      const box = document.createElement("input"), label = document.createElement("label");
      box.type = "checkbox"; box.value = name; box.checked = (first.length ? first : names.slice(0, 3)).includes(name);
      label.append(box, " " + name); fields.append(label);
      return box;
    });
    controls.append(control("station", select), previous, next, control("high-pass [Hz]", high), control("low-pass [Hz]", low), fields);
    div.append(controls, figure, peaks);

    function series(run, station, name) {
      const found = runs[run].stations[station];
      if (!found || !(name in found.values)) return null;
      const time = decoded(found.time);
      let values = decoded(found.values[name]);
      const step = (time[time.length - 1] - time[0]) / (time.length - 1);
      for (const [box, kind] of [[low, "low"], [high, "high"]]) {
        const corner = parseFloat(box.value);
        const good = corner > 0 && corner * step < 0.5;
        box.setAttribute("aria-invalid", String(corner > 0 && !good));
        if (good && values.length > 2) values = filtered(values, kind, corner * step);
      }
      return { time, values };
    }

    function update() {
      const station = Number(select.value), chosen = boxes.filter((b) => b.checked).map((b) => b.value);
      const units = [...new Set(chosen.map((n) => quantities[n]))], data = [], rows = [];
      const layout = layoutOf({ xaxis: { title: { text: "time [s]" } }, showlegend: true });
      units.forEach((unit, i) => {
        const span = 1 / units.length, key = i ? "yaxis" + (i + 1) : "yaxis";
        layout[key] = styled({ title: { text: unit ? "[" + unit + "]" : "" }, domain: [1 - (i + 1) * span + 0.04, 1 - i * span] });
      });
      layout.height = 120 + 260 * Math.max(1, units.length);
      chosen.forEach((name, colour) => {
        runs.forEach((run, r) => {
          const found = series(r, station, name);
          if (!found) return;
          const axis = units.indexOf(quantities[name]), words = runs.length > 1 ? name + ", " + run.name : name;
          data.push({
            type: "scatter", mode: "lines", name: words, x: found.time, y: found.values, yaxis: axis ? "y" + (axis + 1) : "y",
            line: { color: COLOURS[colour % COLOURS.length], dash: r ? "dash" : "solid", width: 1.5 },
          });
          let peak = 0, at = 0;
          found.values.forEach((v, i) => { if (Math.abs(v) > Math.abs(peak)) { peak = v; at = found.time[i]; } });
          rows.push([words, peak.toPrecision(4) + " " + quantities[name], at.toPrecision(4) + " s"]);
        });
      });
      const table = document.createElement("table"), body = table.createTBody();
      table.createCaption().textContent = "Largest values at " + stations[station];
      for (const row of rows) {
        const line = body.insertRow(), head = document.createElement("th");
        head.scope = "row"; head.textContent = row[0]; line.append(head);
        row.slice(1).forEach((text) => { line.insertCell().textContent = text; });
      }
      peaks.replaceChildren(table);
      figure.setAttribute("aria-label", title + " at " + stations[station] + ": " + chosen.join(", "));
      return Plotly.react(figure, data, layout, CONFIG);
    }

    const walk = (by) => { select.value = (Number(select.value) + by + stations.length) % stations.length; update(); };
    previous.addEventListener("click", () => walk(-1));
    next.addEventListener("click", () => walk(1));
    controls.addEventListener("change", update);
    return update();
  }

  const all = [...document.querySelectorAll(".plot, .browser")];
  Promise.all(all.map(async (div) => {
    try { await (div.className.includes("browser") ? browser(div) : draw(div)); } catch (error) { failed(div, error); }
  })).then(() => { document.body.dataset.drawn = String(document.querySelectorAll(".js-plotly-plot .main-svg").length > 0 || !all.length); });
})();
