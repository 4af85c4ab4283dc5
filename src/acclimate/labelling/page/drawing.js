"use strict";
// A sentence with its marks, drawn from data. Everything is set as text, never as HTML.
labelling.drawing = (() => {
  const { spans } = labelling;
  const { at, made } = dom;
  const { counted } = labelling.panels;
  const ANSWERED = { done: "done already", part: "labelled in part", skipped: "was skipped", flagged: "is flagged" };
  const DOUBT = 0.05; // probability of a name from which on a word without a suggestion is underlined

  // a label's colour on the paper, and the ink that is read best on it
  function mixed(hex, share) {
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
    const parts = (hex) => [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16));
    const [colour, ground] = [parts(hex || "#d9d9d9"), parts(paper.length === 7 ? paper : "#ffffff")];
    const shades = colour.map((value, number) => Math.round(share * value + (1 - share) * ground[number]));
    const light = shades.map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
    const isDark = (luminance + 0.05) / 0.05 < 1.05 / (luminance + 0.05);
    return { ground: `rgb(${shades.join(", ")})`, ink: isDark ? "#ffffff" : "#000000" };
  }

  function paint(element, hex, share) {
    const { ground, ink } = mixed(hex, share);
    element.style.setProperty("--ground", ground);
    element.style.setProperty("--label-ink", ink);
  }

  const nameOf = (mark) => `${mark.label}${mark.state === "open" ? `, suggested${mark.score === null ? "" : `, ${Math.round(100 * mark.score)} percent`}` : ""}`;

  // `shown`: the item, its marks, colours by label, the selected words [first, last + 1], and the word in focus
  function sentence(place, shown) {
    const { item, marks } = shown;
    place.replaceChildren();
    place.hidden = item === null;
    if (!item) return;
    for (let word = 0; word < item.words.length; ) {
      const mark = spans.markAt(marks, word);
      const end = mark ? mark.end : word + 1;
      const holder = mark ? markElement(mark, shown.colours) : place;
      for (; word < end; word++) {
        holder.append(wordElement(word, mark, shown));
        if (word + 1 < end) holder.append(item.gaps[word] || "");
      }
      if (mark) place.append(holder);
      if (mark) holder.append(made("small", labelOf(mark), "", { "aria-hidden": "true" }));
      if (word < item.words.length) place.append(item.gaps[word - 1]);
    }
    place.setAttribute("aria-activedescendant", `word-${shown.focus}`);
  }

  const labelOf = (mark) => (mark.state === "open" && mark.score !== null ? `${mark.label} ${Math.round(100 * mark.score)} %` : mark.label);

  function markElement(mark, colours) {
    const element = made("span", null, `mark ${mark.state}`, { role: "group", "aria-label": nameOf(mark) });
    paint(element, colours[mark.label], mark.state === "open" ? 0.12 + 0.6 * (mark.score === null ? 0.5 : mark.score) : 1);
    return element;
  }

  function wordElement(word, mark, { item, selected: [start, end], focus }) {
    const text = item.words[word];
    const isIn = start <= word && word < end;
    const element = made("span", text, "word", { role: "option", id: `word-${word}`, "aria-selected": String(isIn) });
    const doubt = mark || item.answer ? 0 : item.doubts[word] || 0;
    element.setAttribute("aria-label", mark ? `${text}, ${nameOf(mark)}` : text);
    element.dataset.word = word;
    element.classList.toggle("selected", isIn);
    element.classList.toggle("focus", isIn && word === focus);
    if (doubt >= DOUBT) {
      element.classList.add("doubt");
      element.style.setProperty("--doubt", doubt.toFixed(2));
      element.setAttribute("aria-label", `${text}, a name by ${Math.round(100 * doubt)} percent`);
    }
    return element;
  }

  // what is said of the sentence, or why there is none
  function facts(place, { item, marks }, isWaiting) {
    place.replaceChildren();
    const say = (text, className, name = "span") => place.append(made(name, text, className));
    if (!item && isWaiting) say("The next sentence comes once your answers are saved.", "missing", "p");
    else if (!item) say("Nothing is left to label. Everything that you answered is saved.", "missing", "p");
    if (!item) return;
    const { answer } = item;
    const open = marks.filter((one) => one.state === "open").length;
    if (item.heldBack) say("held back: for the score, never learnt", "badge open");
    if (answer) say(ANSWERED[answer.status], "badge good");
    if (open) say(`${counted(open, "suggestion")} undecided`, "badge open");
    if (answer && answer.note) say(`Note: ${answer.note}`, "note");
  }

  // which buttons can be pressed; `mark`: the one that is selected
  function buttons(place, { item, marks }, mark) {
    const hasOpen = marks.some((one) => one.state === "open");
    const isOff = {
      "accept-all": !hasOpen,
      "reject-all": !hasOpen,
      accept: !mark || mark.state !== "open",
      remove: !mark,
      elsewhere: !mark || mark.state !== "set" || item.heldBack,
      undo: false,
      redo: false,
    };
    for (const button of place.querySelectorAll(".row button, .palette button")) {
      button.disabled = isOff[button.id] ?? item === null;
    }
  }

  return { sentence, facts, buttons, paint };
})();
