"use strict";
// What stands around the sentence: dialogs, and how far it is. Everything is set as text, never as HTML.
labelling.panels = (() => {
  const at = (id) => document.getElementById(id);

  function made(name, text, className, attributes = {}) {
    const element = document.createElement(name);
    if (text !== undefined && text !== null) element.textContent = text;
    if (className) element.className = className;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  function button(text, act, className) {
    const element = made("button", text, className, { type: "button" });
    element.addEventListener("click", act);
    return element;
  }

  let onClose = null;
  // a dialog with a title, some elements and buttons; the first button is what Enter does
  function open(title, body, buttons = [], { isFixed = false, closed = null } = {}) {
    const dialog = at("dialog");
    if (dialog.open) close();
    at("dialog-title").textContent = title;
    at("dialog-body").replaceChildren(...body);
    at("dialog-buttons").replaceChildren(...buttons.map(([text, act], number) => button(text, act, number ? "" : "main")));
    at("dialog-buttons").hidden = buttons.length === 0;
    at("dialog-close").hidden = isFixed;
    dialog.dataset.fixed = isFixed ? "yes" : "";
    onClose = closed;
    dialog.showModal();
    const first = at("dialog-body").querySelector("input, textarea, button, select");
    (first || at("dialog-buttons").firstElementChild || at("dialog-close")).focus();
  }

  function close() {
    at("dialog").close();
  }

  function listen(back) {
    const dialog = at("dialog");
    at("dialog-close").addEventListener("click", close);
    dialog.addEventListener("cancel", (event) => dialog.dataset.fixed && event.preventDefault());
    dialog.addEventListener("close", () => {
      const told = onClose;
      onClose = null;
      if (told) told();
      back();
    });
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const main = at("dialog-buttons").querySelector("button.main");
      if (main) main.click();
    });
  }

  function askName(name, take) {
    const input = made("input", null, "", { id: "your-name", maxlength: "100", autocomplete: "name", required: "" });
    input.value = name;
    const label = made("label", "Your name", "", { for: "your-name" });
    const note = made("p", "It stands beside your answers. This browser keeps it.", "note");
    const go = () => {
      if (!input.value.trim()) return input.focus();
      close();
      take(input.value.trim());
    };
    open("Who labels?", [label, input, note], [["Begin", go]], { isFixed: !name });
  }

  function askToken(again) {
    const input = made("input", null, "", { id: "token", type: "password", autocomplete: "off" });
    const label = made("label", "Token of this server", "", { for: "token" });
    const go = () => {
      sessionStorage.setItem("acclimate-token", input.value);
      close();
      again();
    };
    open("This server asks for a token", [label, input], [["Go on", go]], { isFixed: true });
  }

  const KEYS = [
    ["← → ↑ ↓", "move from word to word"],
    ["Shift + arrow", "extend the selection"],
    ["Home, End", "to the first or last word"],
    ["Ctrl + ← →", "to the span or suggestion before or after"],
    ["key of a label", "set this label; again: remove it. Two keys where initials are shared"],
    ["1 to 9", "set the first to ninth label"],
    ["Space", "accept the suggestion here"],
    ["Delete", "remove the span here, or reject the suggestion"],
    ["+", "accept all suggestions"],
    ["−", "reject all suggestions"],
    ["*", "the same words elsewhere"],
    ["Enter", "done: save, and go on; suggestions that you left stay open"],
    ["Shift + Enter", "save only what is marked; all other words stay open"],
    ["Page Down", "skip: it comes again at the end"],
    ["!", "flag, with a note: it does not come again"],
    ["Ctrl + Z, Ctrl + Y", "undo and redo, back to the first answer"],
    ["/", "search"],
    ["Esc", "give up the selection or a key that was begun"],
    ["?", "this help"],
  ];

  function help(labels, keys) {
    const rows = (pairs) => {
      const table = made("table", null, "keys");
      const body = made("tbody");
      for (const [key, text] of pairs) {
        const row = made("tr");
        const head = made("th", null, "", { scope: "row" });
        head.append(made("kbd", key));
        row.append(head, made("td", text));
        body.append(row);
      }
      table.append(body);
      return table;
    };
    const mouse =
      "With a mouse, drag over words or click a first and Shift-click a last one, then click a label. On a touch screen, tap the " +
      "first and the last word, then the label.";
    const doubt = "Suggestions are shaded by their probability. A dotted line stands under a word that is perhaps a name, though none is suggested.";
    open("Keys", [rows(labels.map((label) => [keys.get(label), label])), rows(KEYS), made("p", mouse, "note"), made("p", doubt, "note")]);
  }

  function search(ask, show) {
    const input = made("input", null, "wide", { id: "search-text", type: "search", autocomplete: "off" });
    const label = made("label", "Sentences that hold", "", { for: "search-text" });
    const found = made("ul", null, "hits");
    const said = made("p", null, "note", { role: "status" });
    let turn = 0;
    input.addEventListener("input", async () => {
      const mine = ++turn;
      try {
        const { hits } = input.value.trim() ? await ask(input.value) : { hits: [] };
        if (mine !== turn) return;
        found.replaceChildren(...hits.map((hit) => hitRow(hit, show)));
        said.textContent = hits.length === 100 ? "The first 100 are shown." : input.value.trim() ? counted(hits.length, "sentence") : "";
      } catch (failure) {
        said.textContent = failure.message;
      }
    });
    open("Search", [label, input, said, found]);
  }

  function hitRow(hit, show) {
    const row = made("li");
    const go = button(hit.words.join(" "), () => {
      close();
      show(hit.id);
    });
    if (hit.status) go.append(made("small", ` ${{ done: "done", part: "in part", skipped: "skipped", flagged: "flagged" }[hit.status]}`));
    row.append(go);
    return row;
  }

  function elsewhere(mark, words, places, apply) {
    const boxes = [];
    const rows = places.map((one, number) => {
      const row = made("li");
      const box = made("input", null, "", { type: "checkbox", id: `place-${number}` });
      box.checked = true;
      boxes.push(box);
      const label = made("label", null, "", { for: `place-${number}` });
      label.append(`${one.before.join(" ")} `, made("mark", one.words.join(" ")), ` ${one.after.join(" ")}`);
      row.append(box, label);
      return row;
    });
    const list = made("ul", null, "places");
    list.append(...rows);
    const about = `Set ${mark.label} on “${words.join(" ")}” in these places, too. The rest of their sentences stays open.`;
    const go = () => {
      close();
      apply(places.filter((_, number) => boxes[number].checked).map((one) => one.place));
    };
    if (places.length) open("The same words elsewhere", [made("p", about), list], [[`Label ${counted(places.length, "place")}`, go], ["Cancel", close]]);
    else open("The same words elsewhere", [made("p", `“${words.join(" ")}” stands in no other sentence that is left.`)], [["Good", close]]);
    list.addEventListener("change", () => {
      const count = boxes.filter((box) => box.checked).length;
      at("dialog-buttons").firstElementChild.textContent = `Label ${counted(count, "place")}`;
    });
  }

  function flag(note, take) {
    const area = made("textarea", note, "", { id: "flag-note", rows: "3", maxlength: "10000" });
    const label = made("label", "What is wrong with this sentence?", "", { for: "flag-note" });
    const go = () => {
      close();
      take(area.value);
    };
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go();
    });
    open("Flag", [label, area, made("p", "It is set aside, and not learnt. Ctrl + Enter flags it.", "note")], [["Flag it", go], ["Cancel", close]]);
  }

  function guide(found, isFixed, change) {
    const rows = made("ul", null, "guide");
    const row = (label) => {
      const item = made("li");
      const colour = made("input", null, "", { type: "color", "aria-label": `Colour of ${label || "the new label"}` });
      colour.value = found.colours[label] || "#d9d9d9";
      const name = made("input", null, "", { "aria-label": "Label", maxlength: "100" });
      name.value = label;
      name.readOnly = Boolean(label); // a label in use must keep its name
      const gone = button("✕", () => item.remove());
      gone.setAttribute("aria-label", `Remove ${label || "this label"}`);
      item.append(colour, name, gone);
      for (const one of [colour, gone]) one.disabled = isFixed;
      rows.append(item);
      return name;
    };
    found.labels.forEach(row);
    const area = made("textarea", found.guidelines, "", { id: "guidelines", rows: "6" });
    area.readOnly = isFixed;
    const label = made("label", "Guidelines", "", { for: "guidelines" });
    const said = made("p", null, "note", { role: "alert" });
    const go = async () => {
      const pairs = [...rows.children].map((item) => [item.children[1].value.trim(), item.children[0].value]).filter(([name]) => name);
      const wanted = { labels: pairs.map(([name]) => name), colours: Object.fromEntries(pairs), guidelines: area.value };
      try {
        await change(wanted);
        close();
      } catch (failure) {
        said.textContent = failure.message;
      }
    };
    const more = button("Another label", () => row("").focus());
    const body = isFixed ? [label, area, rows] : [label, area, rows, more, said];
    open("Guide", body, isFixed ? [] : [["Save the guide", go], ["Cancel", close]]);
  }

  function conflict(saved, words, keep) {
    const spans = saved ? saved.spans.map(([start, end, label]) => `${words.slice(start, end).join(" ")}: ${label}`) : [];
    const list = made("ul");
    list.append(...(spans.length ? spans : ["no span"]).map((text) => made("li", text)));
    const about = saved
      ? "Somebody saved another answer to this sentence under your name, in another tab perhaps. Saved is:"
      : "Your earlier answer to this sentence was taken back elsewhere. Saved is:";
    const choose = (isMine) => () => {
      close();
      keep(isMine);
    };
    const buttons = [["Keep what is saved", choose(false)], ["Save mine instead", choose(true)]];
    open("This sentence was changed elsewhere", [made("p", about), list, made("p", words.join(" "), "note")], buttons, { isFixed: true });
  }

  const counted = (count, name) => `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
  const percent = (share) => (100 * share).toFixed(1);

  function progress(found, isAlone) {
    const { mine, all } = found;
    const tile = (value, text, range = "") => {
      const box = made("div", null, "tile");
      box.append(made("b", value), ...(range ? [made("span", range)] : []), made("span", text));
      return box;
    };
    const together = found.annotators.length > 1 ? `, ${all.done.toLocaleString("en")} by all` : "";
    const tiles = [
      tile(mine.done.toLocaleString("en"), `of ${counted(mine.sentences, "sentence")} done by you${together}`),
      tile(mine.spans.toLocaleString("en"), "spans"),
      tile((mine.seconds / 60).toFixed(mine.seconds < 600 ? 1 : 0), "minutes"),
    ];
    if (mine.part + mine.skipped + mine.flagged) tiles.push(tile(`${mine.part} · ${mine.skipped} · ${mine.flagged}`, "in part · skipped · flagged"));
    for (const one of found.agreement.filter((each) => each.sentences)) {
      const kappa = one.kappa === null ? "" : `kappa ${one.kappa.toFixed(2)}`;
      tiles.push(tile(percent(one.f1), `F1 with ${one.with} on ${counted(one.sentences, "sentence")}`, kappa));
    }
    if (!isAlone) tiles.push(...learningTiles(found, tile));
    at("tiles").replaceChildren(...tiles);
    at("learner").textContent = isAlone ? "Answers stay in this browser until you download them." : learnerLine(found);
    at("curve").replaceChildren(...curve(found.rounds.filter((one) => one.held_back)));
  }

  function learningTiles(found, tile) {
    const judged = found.rounds.filter((one) => one.held_back).pop();
    if (!judged) return [tile("–", `F1 on ${counted(found.all.held_back, "held-back sentence")}: after the next round`)];
    const { f1, low, high, sentences } = judged.held_back;
    const tiles = [tile(percent(f1), `F1 on ${counted(sentences, "held-back sentence")}`, `[${percent(low)}, ${percent(high)}]`)];
    if (judged.expected) {
      const { more, gain, low: from, high: to } = judged.expected;
      const sign = (value) => `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`;
      tiles.push(tile(sign(gain), `F1 expected of the next ${more} sentences`, `[${sign(from)}, ${sign(to)}]`));
    }
    return tiles;
  }

  function learnerLine({ learner, rounds }) {
    const last = rounds[rounds.length - 1];
    const learnt = last && last.learnt ? `The tagger has learnt ${counted(last.learnt, "sentence")}. ` : "";
    if (learner.state === "learning") return `${learnt}It is learning now, and orders what is left.`;
    if (learner.state === "failed") return `${learnt}Learning failed: ${learner.problem} Your answers are safe.`;
    if (learner.state === "off") return "";
    return `${learnt}It learns again after ${counted(learner.answersLeft, "answer")}.`;
  }

  function curve(rounds) {
    if (rounds.length < 2) return [];
    const svg = (name, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    const [width, height, left, top, bottom] = [440, 170, 40, 12, 28];
    const most = Math.max(...rounds.map((one) => one.learnt), 1);
    const values = rounds.flatMap((one) => [one.held_back.low, one.held_back.high]);
    const [lowest, highest] = [Math.max(0, Math.min(...values) - 0.03), Math.min(1, Math.max(...values) + 0.03)];
    const x = (count) => left + ((width - left - 12) * count) / most;
    const y = (share) => top + ((height - top - bottom) * (highest - share)) / (highest - lowest || 1);
    const first = rounds[0].held_back.f1;
    const last = rounds[rounds.length - 1].held_back.f1;
    const label = `F1 on held-back sentences over labelled sentences, from ${percent(first)} to ${percent(last)}`;
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    for (const share of [lowest, (lowest + highest) / 2, highest]) {
      drawing.append(svg("line", { class: "grid", x1: left, x2: width - 12, y1: y(share), y2: y(share) }));
      const text = svg("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" });
      text.textContent = percent(share);
      drawing.append(text);
    }
    for (const one of rounds) {
      const { low, high } = one.held_back;
      drawing.append(svg("line", { class: "whisker after", x1: x(one.learnt), x2: x(one.learnt), y1: y(low), y2: y(high) }));
    }
    drawing.append(svg("polyline", { class: "line series-1", points: rounds.map((one) => `${x(one.learnt)},${y(one.held_back.f1)}`).join(" ") }));
    for (const one of rounds) drawing.append(svg("circle", { class: "point after", r: 3.5, cx: x(one.learnt), cy: y(one.held_back.f1) }));
    const axis = svg("text", { x: width - 12, y: height - 6, "text-anchor": "end" });
    axis.textContent = `${most} labelled sentences`;
    drawing.append(axis);
    const figure = made("figure");
    figure.append(made("figcaption", "F1 on held-back sentences, with 95 % intervals"), drawing);
    return [figure];
  }

  return { at, made, button, open, close, listen, askName, askToken, help, search, elsewhere, flag, guide, conflict, counted, progress };
})();
