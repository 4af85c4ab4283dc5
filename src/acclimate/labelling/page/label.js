"use strict";
// The page: which sentence is on the screen, what becomes of its answer, how far it is, and the keys and buttons.
(() => {
  const { spans, drawing } = labelling;
  const { at, made } = dom;
  const { counted, ...panels } = labelling.panels;
  const NAME = "acclimate-annotator";
  const POLL = 3000;
  const IDLE = 60; // seconds after which nobody is thought to look
  const DRAFTS = 50; // sentences whose marks the browser keeps
  const holder = at("content");
  const content = holder ? JSON.parse(holder.textContent) : null;

  let store = null;
  let annotator = "";
  let session = "";
  let guide = { labels: [], colours: {}, guidelines: "" };
  let guideVersion = 0;
  let keys = new Map();
  let ahead = null; // ready to be shown after the sentence on the screen
  let spent = 0;
  let since = 0;
  let round = 0;
  let isBusy = false;
  const shownWords = new Map(); // of each sentence that was on the screen
  const say = (text) => (at("hint").textContent = text);
  const editor = labelling.editor(at("sentence"), { draw, changed: keepDraft, say });

  // -- what is on the screen

  // `restores`: its answer was taken back, and so it stands as it stood before
  function show(found, restores = false) {
    const { item } = found;
    ahead = found.ahead;
    spent = 0;
    since = Date.now();
    const draft = item && drafts().find((one) => one.id === item.id);
    const isFit = draft && (restores || draft.version === item.version);
    editor.show(item, isFit ? draft : null);
    if (item) shownWords.set(item.id, item.words);
    if (isFit) keepDraft();
    toSentence();
  }

  function toSentence() {
    if (!at("dialog").open) at("sentence").focus({ preventScroll: true });
  }

  // marks as they are before they are answered; the browser keeps them beyond a reload
  const draftPlace = () => `acclimate-drafts ${session} ${annotator}`;
  function drafts() {
    try {
      return JSON.parse(localStorage.getItem(draftPlace())) || [];
    } catch {
      return [];
    }
  }
  function keepDraft() {
    const { marks, past } = editor;
    const { id, version } = editor.item;
    const others = drafts().filter((one) => one.id !== id);
    const draft = { id, version, marks, past: past.filter((one) => one !== null) };
    try {
      localStorage.setItem(draftPlace(), JSON.stringify([...others.slice(1 - DRAFTS), draft]));
    } catch {
      // only what was not answered yet would be lost with this browser
    }
  }

  function draw() {
    at("desk").hidden = false;
    drawing.sentence(at("sentence"), { ...editor, colours: guide.colours, selected: editor.selected() });
    drawing.facts(at("facts"), editor, store.waiting());
    drawing.buttons(at("desk"), editor, editor.here());
  }

  function drawLabels() {
    keys = spans.keysOf(guide.labels);
    const chips = guide.labels.map((label) => {
      const chip = panels.button(`${label} `, () => act(() => editor.setLabel(label)), "chip");
      chip.append(made("kbd", keys.get(label)));
      drawing.paint(chip, guide.colours[label], 1);
      chip.dataset.label = label;
      return chip;
    });
    at("labels").replaceChildren(...chips);
  }

  // -- answers

  function tick() {
    const now = Date.now();
    spent += Math.min(IDLE, (now - since) / 1000);
    since = now;
  }

  const noteOf = (item) => (item.answer ? item.answer.note : "");

  function finish(status, note) {
    const { item, marks } = editor;
    if (!item) return;
    tick();
    const answer = spans.answerOf(item, marks, status, note ?? noteOf(item), Math.round(10 * spent) / 10);
    const next = ahead;
    keepDraft();
    say("");
    show({ item: next, ahead: null });
    store.answer(answer, next ? next.id : null);
    if (!editor.item) draw();
  }

  // the server has an answer; `left`: how many it does not have yet
  function saved(found, left) {
    const { item } = editor;
    if (item && item.id in found.versions) item.version = found.versions[item.id];
    if (left) return;
    if (!item) {
      say("");
      show(found);
    } else if (found.item && found.item.id === item.id) {
      item.version = found.item.version;
      ahead = found.ahead;
    }
    look();
  }

  async function undo() {
    if (editor.undo()) return;
    const isElsewhere = editor.past.length > 0; // what is left there is a step of the server's
    const found = await settled(store.undo);
    const count = found.sentences.length;
    if (isElsewhere) {
      editor.past.pop();
      ahead = (await store.next(editor.item.id)).ahead;
      say(`Taken back in ${counted(count, "sentence")}.`);
    } else if (found.isChanged) {
      take(found, count === 1);
      say("Your last answer is taken back. It is not saved: press Enter when it is right.");
    } else {
      say("There is nothing to undo.");
    }
    look();
  }

  async function redo() {
    if (editor.redo()) return;
    const found = await settled(store.redo);
    if (found.isChanged) take(found);
    say(found.isChanged ? "Done again." : "There is nothing to redo.");
    look();
  }

  function take(found, restores = false) {
    if (found.guide) takeGuide(found);
    show(found, restores);
  }

  // what is under way must be saved before a step is taken back
  async function settled(ask) {
    for (let turn = 0; store.waiting() && turn < 50; turn++) {
      store.send();
      await new Promise((go) => setTimeout(go, 100));
    }
    if (store.waiting()) throw new Error("The server is away. Your answers are kept here; undo works when it is back.");
    return ask();
  }

  async function elsewhere() {
    const { item } = editor;
    const mark = editor.here();
    if (!mark || mark.state !== "set") {
      say("Go to a span first: its words are looked for.");
      return;
    }
    const words = item.words.slice(mark.start, mark.end);
    const places = (await store.elsewhere(words)).places.filter((one) => one.place[0] !== item.id);
    const label = async (wanted) => {
      const found = await store.labelElsewhere(words, mark.label, wanted);
      editor.past.push(null);
      say(`${mark.label} is set in ${counted(found.places, "place")} more. Ctrl + Z takes it back.`);
      ahead = (await store.next(item.id)).ahead;
      look();
    };
    panels.elsewhere(mark, words, places, (wanted) => wanted.length && attempt(() => label(wanted)));
  }

  async function download() {
    const { name, text } = await settled(store.file);
    const link = made("a", null, "", { download: name });
    link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`${name}: ${counted(text.split("\n").length - 1, "sentence")}.`);
  }

  // -- how far it is

  async function look() {
    const shown = editor.item;
    let found;
    try {
      found = await store.progress(shown ? shown.id : null);
    } catch (failure) {
      if (failure.status === 0) store.send();
      return;
    }
    showProgress(found);
    if (found.guideVersion !== guideVersion) takeGuide(await store.begin());
    const { item, past } = editor;
    const isSame = shown && item && shown.id === item.id && !store.waiting();
    if (isSame && found.version !== undefined && found.version !== item.version && !past.length) {
      take(await store.next());
      say("This sentence was answered elsewhere.");
    } else if (found.round !== round) {
      round = found.round;
      if (isSame) await takeRound(item);
    }
  }

  // new suggestions: on the sentence on the screen only where nobody has begun
  async function takeRound(shown) {
    const next = await store.next(shown.id);
    const { item, past } = editor;
    if (!item || item.id !== shown.id) return;
    ahead = next.ahead;
    if (!past.length && !item.answer) editor.renew(next.item);
  }

  function showProgress(found) {
    at("progress").hidden = false;
    labelling.progress.show(found, Boolean(store.isAlone));
  }

  function takeGuide(found) {
    guide = found.guide;
    guideVersion = found.guideVersion;
    drawLabels();
    if (editor.item) draw();
  }

  // -- keys and buttons

  const showOther = async (id) => show(await settled(() => store.next(id)));
  const search = () => panels.search(store.search, (id) => attempt(() => showOther(id)));
  const help = () => panels.help(guide.labels, keys);
  const flag = () => panels.flag(noteOf(editor.item), (note) => finish("flagged", note));
  const changeGuide = async (wanted) => takeGuide(await store.changeGuide(wanted, guideVersion));
  const openGuide = () => panels.guide(guide, Boolean(store.isAlone), changeGuide);
  const ON_A_SENTENCE = {
    ArrowRight: (event) => editor.walk(1, event),
    ArrowLeft: (event) => editor.walk(-1, event),
    ArrowDown: (event) => editor.select(editor.lineAway(1), event.shiftKey),
    ArrowUp: (event) => editor.select(editor.lineAway(-1), event.shiftKey),
    Home: (event) => editor.select(0, event.shiftKey),
    End: (event) => editor.select(editor.item.words.length - 1, event.shiftKey),
    Escape: editor.giveUp,
    " ": editor.accept,
    Delete: editor.remove,
    Backspace: editor.remove,
    "+": () => editor.decideAll("set"),
    "=": () => editor.decideAll("set"),
    "-": () => editor.decideAll("rejected"),
    "−": () => editor.decideAll("rejected"),
    "*": () => attempt(elsewhere),
    "!": flag,
    Enter: (event) => event.repeat || finish(event.shiftKey ? "part" : "done"), // a key held down answers but once
    PageDown: (event) => event.repeat || finish("skipped"),
  };
  const ALWAYS = { "/": search, "?": help };
  // of the other buttons data-key names the key that does the same
  const BUTTONS = {
    part: () => finish("part"),
    undo: () => attempt(undo),
    redo: () => attempt(redo),
    "open-guide": openGuide,
    annotator: () => panels.askName(annotator, enter),
    download: () => attempt(download),
  };

  function press(event) {
    if (!store || at("dialog").open || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, summary, a")) return;
    if (event.target.closest("button") && ["Enter", " "].includes(event.key)) return;
    tick();
    const command = commandOf(event);
    if (!command) return;
    event.preventDefault();
    command(event);
  }

  function commandOf({ key, shiftKey, ctrlKey, metaKey }) {
    const letter = key.toLowerCase();
    if (ctrlKey || metaKey) {
      if (letter === "y" || (letter === "z" && shiftKey)) return BUTTONS.redo;
      if (letter === "z") return BUTTONS.undo;
      return key === "ArrowLeft" || key === "ArrowRight" ? editor.item && ON_A_SENTENCE[key] : null;
    }
    const command = ALWAYS[key] || (editor.item && ON_A_SENTENCE[key]);
    if (command) {
      editor.begun = "";
      return command;
    }
    return editor.item && Array.from(key).length === 1 ? () => editor.labelKey(letter, guide.labels, keys) : null;
  }

  async function attempt(work) {
    if (isBusy) return;
    isBusy = true;
    try {
      await work();
    } catch (failure) {
      if (failure.status === 401) panels.askToken(() => attempt(work));
      else say(failure.message);
    } finally {
      isBusy = false;
    }
  }

  // a button's work, after which the keys are at the sentence again
  function act(work) {
    tick();
    work();
    toSentence();
  }

  function listen() {
    panels.listen(() => editor.item && toSentence());
    document.addEventListener("keydown", press);
    for (const button of document.querySelectorAll("main button, header button")) {
      const { key } = button.dataset;
      const work = BUTTONS[button.id] || ALWAYS[key] || (() => editor.item && ON_A_SENTENCE[key]({}));
      button.addEventListener("click", () => store && act(work));
    }
    const redraw = () => store && (drawLabels(), draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) tick();
      else since = Date.now();
      if (!document.hidden && store) look();
    });
    window.addEventListener("beforeunload", (event) => store && store.waiting() && event.preventDefault());
    setInterval(() => store && !document.hidden && !store.isAlone && look(), POLL);
  }

  // -- the beginning

  function complain(title, message) {
    at("problem").replaceChildren(made("h2", title), made("p", message));
    at("problem").hidden = false;
  }

  // what a store tells of the answers that it was given
  const hear = {
    saved,
    state(kind, count) {
      const away = `${counted(count, "answer")} not saved yet: the server is away, they are kept here`;
      at("saved").textContent = { saved: "saved", saving: "saving …", away }[kind];
      at("saved").dataset.state = kind;
    },
    conflict(answer, found, decide) {
      panels.conflict(found.current, shownWords.get(answer.sentence) || [], (isMine) => {
        decide(isMine);
        if (!isMine && !editor.item) attempt(async () => take(await settled(store.next)));
      });
    },
    refused: (answer, message) => complain("An answer was refused", message),
    token: panels.askToken,
  };

  async function enter(name) {
    annotator = name;
    localStorage.setItem(NAME, name);
    at("annotator").textContent = `You are ${name}`;
    const opened = content ? labelling.alone(name, hear, content) : labelling.server(name, hear);
    try {
      const found = await opened.begin();
      store = opened;
      ({ session, round } = found);
      at("problem").hidden = true;
      at("name").textContent = `· ${found.name}`;
      document.title = `Label ${found.name}`;
      takeGuide(found);
      showProgress(found);
      await store.send();
      show(await store.next());
      hear.state(store.waiting() ? "saving" : "saved", store.waiting());
    } catch (failure) {
      if (failure.status === 401) {
        panels.askToken(() => enter(name));
        return;
      }
      complain("That did not work", failure.message);
      if (failure.status === 422) panels.askName("", enter);
      else setTimeout(() => enter(name), 2000); // until the server is back
    }
  }

  listen();
  const known = localStorage.getItem(NAME);
  if (known) enter(known);
  else panels.askName("", enter);
})();
