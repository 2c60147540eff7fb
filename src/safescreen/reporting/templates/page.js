// The table of all features: sorted, searched and shown a page at a time. Everything else on the page is plain HTML.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("features-data").textContent);
  const explorer = document.getElementById("explorer");
  const head = explorer.querySelector("thead tr");
  const body = explorer.querySelector("tbody");
  const needle = document.getElementById("needle");
  const shown = document.getElementById("shown");
  const PAGE = 25;
  const ORDER = "riunofc"; // required, proved in, undecided, unknown, ruled out, excluded, constant
  const LOOKS = { i: "in", r: "in", u: "open", o: "out", f: "out", c: "out", n: "" };
  const screened = !data.codes.includes("n");

  const effects = new Map(data.support.map((feature, place) => [feature, data.effects[place]]));
  const models = data.models && new Map(data.models.features.map((feature, place) => [feature, data.models.times[place]]));
  const nameOf = (feature) => (data.names ? data.names[feature] : "x" + feature);
  const marginOf = (feature) => (data.margins[feature] === null ? Infinity : data.margins[feature]);
  const features = Array.from({ length: data.count }, (_, feature) => feature);
  const lowered = features.map((feature) => nameOf(feature).toLowerCase());

  const superscript = (text) => text.replace(/[-\d]/g, (sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign]));
  function digits(value) {
    if (value === 0) return "0";
    const exponent = Math.floor(Math.log10(Math.abs(value)));
    const number = Number(value.toPrecision(4));
    if (exponent > -5 && exponent < 6) {
      return number.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "−");
    }
    const [mantissa, power] = number.toExponential().split("e");
    return mantissa.replace("-", "−") + "×10" + superscript(String(Number(power)));
  }

  function percent(share) {
    if (share === 0) return "0 %";
    const unit = 10 ** Math.min(Math.floor(Math.log10(Math.abs(100 * share))) - 1, -2);
    return digits(Math.floor((100 * share) / unit) * unit) + " %"; // rounded down, as margins are
  }

  function element(tag, text, look) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (look) made.className = look;
    return made;
  }

  const reading = (a, b) =>
    effects.has(b) - effects.has(a) ||
    ORDER.indexOf(data.codes[a]) - ORDER.indexOf(data.codes[b]) ||
    (marginOf(a) < marginOf(b) ? -1 : marginOf(a) > marginOf(b) ? 1 : a - b);
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const numeric = (of) => (a, b) => of(a) - of(b) || a - b;

  const columns = [
    { key: "column", title: "Column", look: "number wide", compare: (a, b) => a - b, cell: (f) => element("td", String(f), "number wide") },
    {
      key: "name", title: "Feature", look: "", compare: (a, b) => collator.compare(nameOf(a), nameOf(b)) || a - b,
      cell: (f) => {
        const cell = element("th");
        cell.scope = "row";
        const name = nameOf(f).trim() ? element("bdi", nameOf(f)) : element("i", "no name");
        name.title = nameOf(f);
        cell.append(name);
        return cell;
      },
    },
    {
      key: "effect", title: "Coefficient", remark: "per standard deviation", look: "number wide", falling: true,
      compare: numeric((f) => (effects.has(f) ? Math.abs(effects.get(f)) : -1)),
      cell: (f) => element("td", effects.has(f) ? (effects.get(f) > 0 ? "+" : "") + digits(effects.get(f)) : "", "number wide"),
    },
  ];
  if (models) {
    columns.push({
      key: "models", title: "Models", look: "number wide", falling: true, compare: numeric((f) => models.get(f) || 0),
      cell: (f) => element("td", models.has(f) ? models.get(f) + " of " + data.models.of : "", "number wide"),
    });
  }
  if (screened) {
    columns.push(
      {
        key: "decision", title: "Proved", look: "", compare: reading,
        cell: (f) => element("td", data.labels[data.codes[f]], "mark " + LOOKS[data.codes[f]]),
      },
      {
        key: "margin", title: "Margin", look: "number", falling: true,
        compare: (a, b) => (marginOf(a) < marginOf(b) ? -1 : marginOf(a) > marginOf(b) ? 1 : a - b),
        cell: (f) => {
          const margin = data.margins[f];
          return element("td", margin !== null ? digits(margin) : "rfc".includes(data.codes[f]) ? "–" : "∞", "number");
        },
      },
      {
        key: "share", title: "of objective", look: "number wide", falling: true,
        compare: (a, b) => (marginOf(a) < marginOf(b) ? -1 : marginOf(a) > marginOf(b) ? 1 : a - b),
        cell: (f) => {
          const margin = data.margins[f];
          return element("td", margin === null ? "" : percent(margin / data.objective), "number wide");
        },
      },
    );
  }

  const groups = {
    all: { label: "All", has: () => true },
    model: { label: "In the model", has: (f) => effects.has(f) },
  };
  if (screened) {
    groups.in = { label: "Proved in", has: (f) => "ir".includes(data.codes[f]) };
    groups.open = { label: "Undecided", has: (f) => data.codes[f] === "u" };
    groups.out = { label: "Ruled out", has: (f) => "ofc".includes(data.codes[f]) };
  }
  const state = { key: null, falling: false, group: "all", needle: "", page: 0, rows: [] };

  function select() {
    const wanted = state.needle.trim().toLowerCase();
    const inGroup = groups[state.group].has;
    state.rows = features.filter(
      (feature) => inGroup(feature) && (!wanted || lowered[feature].includes(wanted) || String(feature) === wanted),
    );
    const column = columns.find((candidate) => candidate.key === state.key);
    const compare = column ? column.compare : reading;
    state.rows.sort(state.falling ? (a, b) => compare(b, a) : compare);
    state.page = 0;
    show();
  }

  function show() {
    const first = state.page * PAGE;
    const page = state.rows.slice(first, first + PAGE);
    body.replaceChildren(
      ...page.map((feature) => {
        const row = element("tr", undefined, effects.has(feature) ? "model" : "");
        row.dataset.feature = feature;
        row.append(...columns.map((column) => column.cell(feature)));
        return row;
      }),
    );
    if (!page.length) {
      const row = element("tr");
      const cell = element("td", "No feature matches.", "nothing");
      cell.colSpan = columns.length;
      row.append(cell);
      body.append(row);
    }
    const count = state.rows.length.toLocaleString("en");
    shown.textContent = page.length
      ? (first + 1).toLocaleString("en") + "–" + (first + page.length).toLocaleString("en") + " of " + count
      : "";
    for (const button of explorer.querySelectorAll("[data-turn]")) {
      const next = state.page + Number(button.dataset.turn);
      button.disabled = next < 0 || next * PAGE >= state.rows.length;
    }
    for (const title of head.children) {
      const sorted = title.dataset.key === state.key ? (state.falling ? "descending" : "ascending") : "none";
      title.setAttribute("aria-sort", sorted);
    }
  }

  for (const column of columns) {
    const title = element("th", undefined, column.look);
    title.scope = "col";
    title.dataset.key = column.key;
    title.dataset.title = column.title;
    const button = element("button", column.title);
    if (column.remark) button.title = column.remark;
    button.type = "button";
    button.addEventListener("click", () => {
      const again = state.key === column.key;
      state.falling = again ? !state.falling : Boolean(column.falling);
      state.key = column.key;
      select();
    });
    title.append(button);
    head.append(title);
  }
  needle.addEventListener("input", () => {
    state.needle = needle.value;
    select();
  });
  for (const [name, group] of Object.entries(groups)) {
    const button = element("button", group.label + " ");
    button.type = "button";
    button.dataset.group = name;
    button.setAttribute("aria-pressed", String(name === state.group));
    button.append(element("span", features.filter(group.has).length.toLocaleString("en")));
    button.addEventListener("click", () => {
      state.group = name;
      for (const other of explorer.querySelectorAll("[data-group]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      select();
    });
    explorer.querySelector(".groups").append(button);
  }
  for (const button of explorer.querySelectorAll("[data-turn]")) {
    button.addEventListener("click", () => {
      state.page += Number(button.dataset.turn);
      show();
    });
  }
  window.addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });
  explorer.hidden = false;
  select();
})();
