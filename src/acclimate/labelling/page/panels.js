"use strict";
// What stands around the sentence: dialogs. Everything is set as text, never as HTML.
labelling.panels = (() => {
  const { at, made } = dom;

  function button(text, act, className) {
    const element = made("button", text, className, { type: "button" });
    element.addEventListener("click", act);
    return element;
  }

  // a dialog with a title, some elements and buttons; the first button is what Enter does
  function open(title, body, buttons = [], { isFixed = false } = {}) {
    const dialog = at("dialog");
    if (dialog.open) close();
    at("dialog-title").textContent = title;
    at("dialog-body").replaceChildren(...body);
    at("dialog-buttons").replaceChildren(...buttons.map(([text, act], number) => button(text, act, number ? "" : "main")));
    at("dialog-buttons").hidden = buttons.length === 0;
    at("dialog-close").hidden = isFixed;
    dialog.dataset.fixed = isFixed ? "yes" : "";
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
    dialog.addEventListener("close", back);
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const main = at("dialog-buttons").querySelector("button.main");
      if (main) main.click();
    });
  }

  // a field under its name; the dialog's body has both
  function field(name, kind, attributes) {
    const input = made(kind, null, "", attributes);
    return [made("label", name, "", { for: attributes.id }), input];
  }

  // what a button of a dialog does: close it, and go on
  const closing = (act) => () => {
    close();
    act();
  };

  function askName(name, take) {
    const attributes = { id: "your-name", maxlength: "100", autocomplete: "name", required: "" };
    const [label, input] = field("Your name", "input", attributes);
    const note = made("p", "It stands beside your answers. This browser keeps it.", "note");
    input.value = name;
    const go = closing(() => take(input.value.trim()));
    const begin = () => (input.value.trim() ? go() : input.focus());
    open("Who labels?", [label, input, note], [["Begin", begin]], { isFixed: !name });
  }

  function askToken(again) {
    const attributes = { id: "token", type: "password", autocomplete: "off" };
    const [label, input] = field("Token of this server", "input", attributes);
    const go = closing(() => {
      sessionStorage.setItem("acclimate-token", input.value);
      again();
    });
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
    const attributes = { id: "search-text", type: "search", autocomplete: "off" };
    const [label, input] = field("Sentences that hold", "input", attributes);
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
    const go = button(hit.words.join(" "), closing(() => show(hit.id)));
    if (hit.status) go.append(made("small", ` ${hit.status === "part" ? "in part" : hit.status}`));
    row.append(go);
    return row;
  }

  function elsewhere(mark, words, places, apply) {
    const title = "The same words elsewhere";
    if (!places.length) {
      open(title, [made("p", `“${words.join(" ")}” stands in no other sentence that is left.`)], [["Good", close]]);
      return;
    }
    const list = made("ul", null, "places");
    for (const [number, one] of places.entries()) {
      const box = made("input", null, "", { type: "checkbox", id: `place-${number}`, checked: "" });
      const label = made("label", null, "", { for: box.id });
      label.append(`${one.before.join(" ")} `, made("mark", one.words.join(" ")), ` ${one.after.join(" ")}`);
      const row = made("li");
      row.append(box, label);
      list.append(row);
    }
    const chosen = () => places.filter((_, number) => at(`place-${number}`).checked).map((one) => one.place);
    const says = (count) => `Label ${counted(count, "place")}`;
    const go = closing(() => apply(chosen()));
    const about = `Set ${mark.label} on “${words.join(" ")}” in these places, too. The rest of their sentences stays open.`;
    open(title, [made("p", about), list], [[says(places.length), go], ["Cancel", close]]);
    list.addEventListener("change", () => {
      at("dialog-buttons").firstElementChild.textContent = says(chosen().length);
    });
  }

  function flag(note, take) {
    const attributes = { id: "flag-note", rows: "3", maxlength: "10000" };
    const [label, area] = field("What is wrong with this sentence?", "textarea", attributes);
    area.value = note;
    const go = closing(() => take(area.value));
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go();
    });
    const about = made("p", "It is set aside, and not learnt. Ctrl + Enter flags it.", "note");
    open("Flag", [label, area, about], [["Flag it", go], ["Cancel", close]]);
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
    const [label, area] = field("Guidelines", "textarea", { id: "guidelines", rows: "6" });
    area.value = found.guidelines;
    area.readOnly = isFixed;
    const said = made("p", null, "note", { role: "alert" });
    const go = async () => {
      const pairs = [...rows.children].map(({ children: [colour, name] }) => [name.value.trim(), colour.value]);
      const named = pairs.filter(([name]) => name);
      const labels = named.map(([name]) => name);
      const wanted = { labels, colours: Object.fromEntries(named), guidelines: area.value };
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
    const choose = (isMine) => closing(() => keep(isMine));
    const buttons = [["Keep what is saved", choose(false)], ["Save mine instead", choose(true)]];
    const body = [made("p", about), list, made("p", words.join(" "), "note")];
    open("This sentence was changed elsewhere", body, buttons, { isFixed: true });
  }

  const counted = (count, name) => `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;

  return { button, open, close, listen, askName, askToken, help, search, elsewhere, flag, guide, conflict, counted };
})();
