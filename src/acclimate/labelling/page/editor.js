"use strict";
// The sentence on the screen: its marks, the selected words, and what keys, mouse and finger do to both.
// `draw` is called when something is to be seen, `changed` when marks are others, `say` with a line for people.
labelling.editor = (place, { draw, changed, say }) => {
  const { spans } = labelling;
  const { counted } = labelling.panels;
  const editor = {
    item: null,
    marks: [],
    past: [], // marks before each change; `null` stands for a step that the server undoes
    future: [],
    anchor: 0,
    focus: 0,
    hasSelection: false,
    begun: "", // the first key of a label of two
  };

  // `draft`: marks and past from when somebody was here before
  function show(item, draft) {
    const { marks, past } = draft || { marks: item ? spans.marksOf(item) : [], past: [] };
    Object.assign(editor, { item, marks, past, future: [], anchor: 0, focus: 0, hasSelection: false, begun: "" });
    draw();
  }

  // the same sentence, with other suggestions
  function renew(item) {
    Object.assign(editor, { item, marks: spans.marksOf(item) });
    draw();
  }

  function change(marks) {
    editor.past.push(editor.marks);
    editor.future = [];
    editor.marks = marks;
    changed();
    draw();
  }

  // takes one change back, or makes it again; false where there is none
  function step(from, to) {
    if (!from.length || from.at(-1) === null) return false;
    to.push(editor.marks);
    editor.marks = from.pop();
    changed();
    draw();
    return true;
  }

  // -- the selection

  const selected = () => {
    const { anchor, focus, hasSelection } = editor;
    return hasSelection ? [Math.min(anchor, focus), Math.max(anchor, focus) + 1] : [focus, focus];
  };

  // the mark that is selected, or on whose word the selection is
  function here() {
    const [start, end] = selected();
    const isSelected = (mark) => mark.state !== "rejected" && mark.start === start && mark.end === end;
    return editor.marks.find(isSelected) || (end - start > 1 ? undefined : spans.markAt(editor.marks, editor.focus));
  }

  function select(word, extendsIt = false) {
    editor.focus = Math.max(0, Math.min(editor.item.words.length - 1, word));
    if (!extendsIt) editor.anchor = editor.focus;
    editor.hasSelection = true;
    draw();
    place.querySelector(`#word-${editor.focus}`).scrollIntoView({ block: "nearest" });
  }

  function selectMark(mark) {
    editor.anchor = mark.start;
    select(mark.end - 1, true);
  }

  function giveUp() {
    Object.assign(editor, { begun: "", hasSelection: false, anchor: editor.focus });
    draw();
  }

  const walk = (by, event) => {
    if (event.ctrlKey || event.metaKey) jump(by);
    else select(editor.hasSelection ? editor.focus + by : editor.focus, event.shiftKey);
  };

  function jump(by) {
    const [start, end] = selected();
    const shown = editor.marks.filter((mark) => mark.state !== "rejected");
    const found = by > 0 ? shown.find((mark) => mark.start >= end) : shown.findLast((mark) => mark.end <= start);
    if (found) selectMark(found);
    else say(by > 0 ? "No span or suggestion follows." : "No span or suggestion comes before.");
  }

  // the word that stands nearest in the line below (1) or above (-1)
  function lineAway(by) {
    const from = place.querySelector(`#word-${editor.focus}`).getBoundingClientRect();
    const middle = (from.left + from.right) / 2;
    let best = { away: Infinity, word: by > 0 ? editor.item.words.length - 1 : 0 };
    for (const element of place.querySelectorAll(".word")) {
      const box = element.getBoundingClientRect();
      const down = by * (box.top - from.top);
      const away = 10000 * Math.round(down / 10) + Math.abs((box.left + box.right) / 2 - middle);
      if (down >= from.height / 2 && away < best.away) best = { away, word: Number(element.dataset.word) };
    }
    return best.word;
  }

  // -- labels

  const wordsOf = ({ start, end }) => editor.item.words.slice(start, end).join(" ");

  function setLabel(label) {
    editor.begun = "";
    if (!editor.item) return;
    if (!editor.hasSelection) {
      say("Choose words first: with the arrow keys, or with the mouse.");
      return;
    }
    const [start, end] = selected();
    const span = here() || { start, end };
    editor.anchor = editor.focus = span.end - 1;
    change(spans.set(editor.marks, span.start, span.end, label));
    say(`${wordsOf(span)}: ${spans.markAt(editor.marks, span.start) ? label : "no label"}`);
  }

  function accept() {
    const mark = here();
    if (!mark || mark.state !== "open") return say("There is no suggestion here.");
    change(spans.changed(editor.marks, mark, "set"));
    return say(`${wordsOf(mark)}: ${mark.label} accepted`);
  }

  function remove() {
    const mark = here();
    if (!mark) return say("There is no span and no suggestion here.");
    change(spans.remove(editor.marks, mark));
    return say(`${wordsOf(mark)}: ${mark.label} ${mark.score === null ? "removed" : "rejected"}`);
  }

  function decideAll(state) {
    const count = editor.marks.filter((mark) => mark.state === "open").length;
    if (!count) return say("There is no suggestion to decide on.");
    change(spans.decideAll(editor.marks, state));
    return say(`${counted(count, "suggestion")} ${state === "set" ? "accepted" : "rejected"}`);
  }

  // a key of a label, the first of two keys, or the number of a label
  function labelKey(key, labels, keys) {
    const wanted = editor.begun + key;
    const longer = labels.filter((label) => keys.get(label).startsWith(wanted));
    const exact = longer.find((label) => keys.get(label) === wanted);
    const numbered = !editor.begun && /^[1-9]$/.test(key) ? labels[Number(key) - 1] : undefined;
    editor.begun = "";
    if (exact) return setLabel(exact);
    if (longer.length) {
      editor.begun = wanted;
      const more = longer.map((label) => `${keys.get(label).slice(wanted.length)}: ${label}`);
      return say(`${wanted} … ${more.join(", ")}`);
    }
    return numbered ? setLabel(numbered) : say(`No label has the key ${wanted}. Press ? for all keys.`);
  }

  // -- mouse and finger

  const wordAt = (target) => {
    const word = target instanceof Element && target.closest(".word");
    return word ? Number(word.dataset.word) : null;
  };

  function listen() {
    let isDragging = false;
    place.addEventListener("pointerdown", (event) => {
      const word = wordAt(event.target);
      if (word === null || event.button || event.pointerType === "touch") return;
      event.preventDefault();
      place.focus({ preventScroll: true });
      select(word, event.shiftKey && editor.hasSelection);
      isDragging = true;
    });
    document.addEventListener("pointermove", (event) => {
      const word = isDragging ? wordAt(document.elementFromPoint(event.clientX, event.clientY)) : null;
      if (word !== null && word !== editor.focus) select(word, true);
    });
    document.addEventListener("pointerup", () => (isDragging = false));
    place.addEventListener("click", (event) => {
      const word = wordAt(event.target);
      if (word !== null && event.pointerType === "touch") tap(word);
    });
  }

  // the first tap chooses a word, the second the last one, a tap on what is chosen gives it up
  function tap(word) {
    const [start, end] = selected();
    const mark = spans.markAt(editor.marks, word);
    if (start <= word && word < end) giveUp();
    else if (mark) selectMark(mark);
    else select(word, editor.hasSelection && !here());
  }

  listen();
  const undo = () => step(editor.past, editor.future);
  const redo = () => step(editor.future, editor.past);
  const acts = { show, renew, undo, redo, selected, here, select, walk, lineAway, giveUp };
  return Object.assign(editor, acts, { setLabel, accept, remove, decideAll, labelKey });
};
