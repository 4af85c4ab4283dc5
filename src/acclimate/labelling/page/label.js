"use strict";
// The desk: one sentence on the screen, its marks, the keys, and what moves to the next one.
(() => {
  const { spans, drawing } = labelling;
  const { at, made, counted, ...panels } = labelling.panels;
  const NAME = "acclimate-annotator";
  const POLL = 3000;
  const IDLE = 60; // seconds after which nobody is thought to look
  const holder = at("content");
  const content = holder ? JSON.parse(holder.textContent) : null;

  let store = null;
  let annotator = "";
  let session = "";
  let guide = { labels: [], colours: {}, guidelines: "" };
  let guideVersion = 0;
  let keys = new Map();
  let item = null; // on the screen
  let ahead = null; // ready to be shown after it
  let marks = [];
  let past = []; // marks before each change; `null` stands for a step that the server undoes
  let future = [];
  let anchor = 0;
  let focus = 0;
  let hasSelection = false;
  let begun = ""; // the first key of a label of two
  let spent = 0;
  let since = 0;
  let round = 0;
  let isBusy = false;
  const drafts = new Map(); // sentence → what stood on the screen when it was left

  // -- what is on the screen

  // `draft`: how it stood when it was left, where an answer was taken back
  function show(next, after, draft = null) {
    ahead = after;
    if (item && next && item.id === next.id && past.length) {
      item.version = next.version; // somebody is at work on it
      return;
    }
    item = next;
    spent = 0;
    since = Date.now();
    begun = "";
    const found = draft || (item && stored(item.id));
    marks = found ? found.marks : item ? spans.marksOf(item) : [];
    past = found ? found.past : [];
    future = [];
    anchor = focus = 0;
    hasSelection = false;
    draw();
    if (!at("dialog").open) at("sentence").focus({ preventScroll: true });
  }

  const leave = () => drafts.set(item.id, { marks, past: past.filter((one) => one !== null), words: item.words });

  const draftPlace = () => `acclimate-draft ${session} ${annotator}`;
  function stored(id) {
    try {
      const draft = JSON.parse(localStorage.getItem(draftPlace()));
      return draft && draft.id === id && draft.version === item.version ? draft : null;
    } catch {
      return null;
    }
  }
  function storeDraft() {
    try {
      const plain = past.filter((one) => one !== null);
      localStorage.setItem(draftPlace(), JSON.stringify({ id: item.id, version: item.version, marks, past: plain }));
    } catch {
      // only what was not answered yet would be lost with this browser
    }
  }

  function change(next) {
    past.push(marks);
    future = [];
    marks = next;
    storeDraft();
    draw();
  }

  const selected = () => [Math.min(anchor, focus), Math.max(anchor, focus) + 1];
  function draw() {
    at("desk").hidden = false;
    at("sentence").hidden = item === null;
    if (item) drawing.sentence(at("sentence"), { item, marks, colours: guide.colours, selected: hasSelection ? selected() : [0, 0], focus });
    drawFacts();
    drawButtons();
  }

  function drawFacts() {
    const facts = [];
    if (!item) {
      const text = store.waiting() ? "The next sentence comes once your answers are saved." : "Nothing is left to label. Everything that you answered is saved.";
      facts.push(made("p", text, "missing"));
    } else {
      if (item.heldBack) facts.push(made("span", "held back: for the score, never learnt", "badge open"));
      if (item.answer) facts.push(made("span", { done: "done already", part: "labelled in part", skipped: "was skipped", flagged: "is flagged" }[item.answer.status], "badge good"));
      const open = marks.filter((one) => one.state === "open").length;
      if (open) facts.push(made("span", `${counted(open, "suggestion")} undecided`, "badge open"));
      if (item.answer && item.answer.note) facts.push(made("span", `Note: ${item.answer.note}`, "note"));
    }
    at("facts").replaceChildren(...facts);
  }

  function drawButtons() {
    for (const button of at("desk").querySelectorAll(".row button, .palette button")) if (button.id !== "undo" && button.id !== "redo") button.disabled = item === null;
    if (!item) return;
    const open = marks.some((one) => one.state === "open");
    const mark = here();
    at("accept-all").disabled = at("reject-all").disabled = !open;
    at("accept").disabled = !(mark && mark.state === "open");
    at("remove").disabled = !mark;
    at("elsewhere").disabled = !(mark && mark.state === "set") || item.heldBack;
  }

  function drawLabels() {
    keys = spans.keysOf(guide.labels);
    const chips = guide.labels.map((label) => {
      const chip = panels.button(`${label} `, () => act(() => setLabel(label)), "chip");
      chip.append(made("kbd", keys.get(label)));
      drawing.paint(chip, guide.colours[label], 1);
      chip.dataset.label = label;
      return chip;
    });
    at("labels").replaceChildren(...chips);
  }

  const say = (text) => (at("hint").textContent = text);

  // -- words and spans

  function here() {
    if (!item) return undefined;
    const [start, end] = selected();
    return marks.find((one) => one.state !== "rejected" && one.start === start && one.end === end) || (end - start === 1 ? spans.markAt(marks, start) : undefined);
  }

  function select(word, extends_) {
    if (!item) return;
    focus = Math.max(0, Math.min(item.words.length - 1, word));
    if (!extends_) anchor = focus;
    hasSelection = true;
    draw();
    at(`word-${focus}`).scrollIntoView({ block: "nearest" });
  }

  function jump(by) {
    const starts = marks.filter((one) => one.state !== "rejected");
    const found = by > 0 ? starts.find((one) => one.start > Math.max(anchor, focus) || (!hasSelection && one.start >= focus)) : starts.filter((one) => one.end <= Math.min(anchor, focus)).pop();
    if (!found) return say(by > 0 ? "No span or suggestion follows." : "No span or suggestion comes before.");
    anchor = found.start;
    select(found.end - 1, true);
  }

  function lineAway(by) {
    const from = at(`word-${focus}`).getBoundingClientRect();
    const middle = (from.left + from.right) / 2;
    let best = null;
    for (const element of at("sentence").querySelectorAll(".word")) {
      const box = element.getBoundingClientRect();
      const down = by * (box.top - from.top);
      if (down < from.height / 2) continue;
      const away = 10000 * Math.round(down / 10) + Math.abs((box.left + box.right) / 2 - middle);
      if (!best || away < best.away) best = { away, word: Number(element.dataset.word) };
    }
    return best ? best.word : by > 0 ? item.words.length - 1 : 0;
  }

  function setLabel(label) {
    begun = "";
    if (!item) return;
    if (!hasSelection) return say("Choose words first: with the arrow keys, or with the mouse.");
    let [start, end] = selected();
    const mark = here();
    if (mark) [start, end] = [mark.start, mark.end];
    change(spans.set(marks, start, end, label));
    const words = item.words.slice(start, end).join(" ");
    say(spans.markAt(marks, start) ? `${words}: ${label}` : `${words}: no label`);
    anchor = focus = end - 1;
    draw();
  }

  function decide(state) {
    const mark = here();
    if (!mark) return say("There is no span and no suggestion here.");
    if (state === "set" && mark.state !== "open") return say("This is no suggestion.");
    change(state === "set" ? spans.changed(marks, mark, "set") : spans.remove(marks, mark));
    say(`${item.words.slice(mark.start, mark.end).join(" ")}: ${mark.label} ${state === "set" ? "accepted" : mark.score === null ? "removed" : "rejected"}`);
  }

  function decideAll(state) {
    const count = marks.filter((one) => one.state === "open").length;
    if (!count) return say("There is no suggestion to decide on.");
    change(spans.decideAll(marks, state));
    say(`${counted(count, "suggestion")} ${state === "set" ? "accepted" : "rejected"}`);
  }

  async function elsewhere() {
    const mark = here();
    if (!mark || mark.state !== "set") return say("Go to a span first: its words are looked for.");
    const words = item.words.slice(mark.start, mark.end);
    const shown = item.id;
    const { places } = await store.elsewhere(words);
    const others = places.filter((one) => one.place[0] !== shown);
    panels.elsewhere(mark, words, others, (wanted) => wanted.length && attempt(async () => {
      const found = await store.labelElsewhere(words, mark.label, wanted);
      past.push(null);
      say(`${mark.label} is set in ${counted(found.places, "place")} more. Ctrl + Z takes it back.`);
      ahead = (await store.next(shown)).ahead;
      look();
    }));
  }

  // -- answers

  function seconds() {
    tick();
    return Math.round(10 * spent) / 10;
  }
  function tick() {
    const now = Date.now();
    spent += Math.min(IDLE, (now - since) / 1000);
    since = now;
  }

  function finish(status, note) {
    if (!item) return;
    const given = note === undefined ? (item.answer ? item.answer.note : "") : note;
    const answer = spans.answerOf(item, marks, status, given, seconds());
    leave();
    if (drafts.size > 200) drafts.delete(drafts.keys().next().value);
    const next = ahead;
    say("");
    item = null;
    ahead = null;
    if (next) show(next, null);
    store.answer(answer, next ? next.id : null);
    if (!item) draw();
  }

  function saved(found, left) {
    for (const [id, version] of Object.entries(found.versions)) if (item && item.id === id) item.version = version;
    if (left) return;
    if (!item) {
      say("");
      show(found.item, found.ahead);
    } else if (found.item && found.item.id === item.id) {
      item.version = found.item.version;
      ahead = found.ahead;
    }
    look();
  }

  async function undo() {
    if (item && past.length) {
      const before = past.pop();
      if (before !== null) {
        future.push(marks);
        marks = before;
        storeDraft();
        return draw();
      }
      const found = await settled(() => store.undo());
      say(`Taken back in ${counted(found.sentences.length, "sentence")}.`);
      ahead = (await store.next(item.id)).ahead;
      return look();
    }
    const found = await settled(() => store.undo());
    if (!found.isChanged) return say("There is nothing to undo.");
    took(found, found.sentences.length === 1 ? drafts.get(found.sentences[0]) : null);
    say("Your last answer is taken back. It is not saved: press Enter when it is right.");
    return look();
  }

  async function redo() {
    if (item && future.length) {
      past.push(marks);
      marks = future.pop();
      storeDraft();
      return draw();
    }
    const found = await settled(() => store.redo());
    if (!found.isChanged) return say("There is nothing to redo.");
    took(found);
    say("Done again.");
    return look();
  }

  function took(found, draft = null) {
    if (found.guide) takeGuide(found);
    item = null;
    show(found.item, found.ahead, draft);
  }

  // what is under way must be saved before a step is taken back
  async function settled(act) {
    for (let turn = 0; store.waiting() && turn < 50; turn++) {
      store.send();
      await new Promise((go) => setTimeout(go, 100));
    }
    if (store.waiting()) throw new Error("The server is away. Your answers are kept here; undo works when it is back.");
    return act();
  }

  async function jumpTo(id) {
    const found = await settled(() => store.next(id));
    item = null;
    show(found.item, found.ahead);
  }

  // -- how far it is

  async function look() {
    const shown = item;
    let found;
    try {
      found = await store.progress(shown ? shown.id : null);
    } catch (failure) {
      if (failure.status === 0) store.send();
      return;
    }
    at("progress").hidden = false;
    labelling.progress.show(found, Boolean(store.isAlone));
    if (found.guideVersion !== guideVersion) takeGuide(await store.begin());
    const isSame = shown && item && shown.id === item.id && !store.waiting();
    if (isSame && found.version !== undefined && found.version !== item.version && !past.length) {
      took(await store.next());
      say("This sentence was answered elsewhere.");
    } else if (found.round !== round) {
      round = found.round;
      if (isSame) await takeRound(shown);
    }
  }

  // new suggestions: on the sentence on the screen only where nobody has begun
  async function takeRound(shown) {
    const next = await store.next(shown.id);
    if (!item || item.id !== shown.id) return;
    ahead = next.ahead;
    if (past.length || item.answer) return;
    item = next.item;
    marks = spans.marksOf(item);
    draw();
  }

  function takeGuide(found) {
    guide = found.guide;
    guideVersion = found.guideVersion;
    drawLabels();
    if (item) draw();
  }

  // -- keys and mouse

  const COMMANDS = {
    ArrowRight: (event) => (event.ctrlKey || event.metaKey ? jump(1) : select(hasSelection ? focus + 1 : focus, event.shiftKey)),
    ArrowLeft: (event) => (event.ctrlKey || event.metaKey ? jump(-1) : select(hasSelection ? focus - 1 : focus, event.shiftKey)),
    ArrowDown: (event) => select(lineAway(1), event.shiftKey),
    ArrowUp: (event) => select(lineAway(-1), event.shiftKey),
    Home: (event) => select(0, event.shiftKey),
    End: (event) => select(item.words.length - 1, event.shiftKey),
    Enter: (event) => finish(event.shiftKey ? "part" : "done"),
    " ": () => decide("set"),
    Delete: () => decide("rejected"),
    Backspace: () => decide("rejected"),
    "+": () => decideAll("set"),
    "=": () => decideAll("set"),
    "-": () => decideAll("rejected"),
    "−": () => decideAll("rejected"),
    "*": () => attempt(elsewhere),
    PageDown: () => finish("skipped"),
    "!": () => panels.flag(item.answer ? item.answer.note : "", (note) => finish("flagged", note)),
    Escape: () => {
      begun = "";
      hasSelection = false;
      anchor = focus;
      draw();
    },
  };
  const ALWAYS = {
    "/": () => panels.search((text) => store.search(text), (id) => attempt(() => jumpTo(id))),
    "?": () => panels.help(guide.labels, keys),
  };

  function press(event) {
    if (!store || at("dialog").open || event.altKey || event.isComposing) return;
    const target = event.target;
    if (target.closest("input, textarea, select, summary, a")) return;
    const isButton = target.closest("button");
    if (isButton && ["Enter", " "].includes(event.key)) return;
    tick();
    if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if (key === "z" || key === "y") {
        event.preventDefault();
        attempt(key === "y" || event.shiftKey ? redo : undo);
        return;
      }
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    }
    const command = ALWAYS[event.key] || (item && COMMANDS[event.key]);
    if (command) {
      event.preventDefault();
      if (event.repeat && ["Enter", "PageDown"].includes(event.key)) return; // a key held down must not answer the next one
      begun = event.key === "Shift" ? begun : "";
      command(event);
    } else if (item && Array.from(event.key).length === 1) {
      labelKey(event.key.toLowerCase(), event);
    }
  }

  function labelKey(key, event) {
    const wanted = begun + key;
    const exact = guide.labels.find((label) => keys.get(label) === wanted);
    const longer = guide.labels.filter((label) => keys.get(label).startsWith(wanted));
    const numbered = !begun && /^[1-9]$/.test(key) ? guide.labels[Number(key) - 1] : undefined;
    event.preventDefault();
    if (exact) return setLabel(exact);
    if (longer.length) {
      begun = wanted;
      return say(`${wanted} … ${longer.map((label) => `${keys.get(label).slice(wanted.length)}: ${label}`).join(", ")}`);
    }
    begun = "";
    if (numbered) return setLabel(numbered);
    return say(`No label has the key ${wanted}. Press ? for all keys.`);
  }

  function listenToWords() {
    const place = at("sentence");
    const wordOf = (target) => (target instanceof Element && target.closest(".word") ? Number(target.closest(".word").dataset.word) : null);
    let isDragging = false;
    place.addEventListener("pointerdown", (event) => {
      const word = wordOf(event.target);
      if (word === null || event.button) return;
      if (event.pointerType === "touch") return;
      event.preventDefault();
      place.focus({ preventScroll: true });
      select(word, event.shiftKey && hasSelection);
      isDragging = true;
    });
    document.addEventListener("pointermove", (event) => {
      if (!isDragging) return;
      const word = wordOf(document.elementFromPoint(event.clientX, event.clientY));
      if (word !== null && word !== focus) select(word, true);
    });
    document.addEventListener("pointerup", () => (isDragging = false));
    place.addEventListener("click", (event) => {
      const word = wordOf(event.target);
      if (word === null || event.pointerType !== "touch") return;
      tap(word);
    });
  }

  // the first tap chooses a word, the second the last one, a tap on what is chosen gives it up
  function tap(word) {
    const [start, end] = selected();
    const mark = spans.markAt(marks, word);
    if (hasSelection && start <= word && word < end) return COMMANDS.Escape();
    if (mark) {
      anchor = mark.start;
      return select(mark.end - 1, true);
    }
    const isAfterMark = hasSelection && here();
    return select(word, hasSelection && !isAfterMark);
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
    if (!at("dialog").open) at("sentence").focus({ preventScroll: true });
  }

  function listen() {
    panels.listen(() => item && at("sentence").focus({ preventScroll: true }));
    document.addEventListener("keydown", press);
    listenToWords();
    const buttons = {
      "accept-all": () => decideAll("set"),
      "reject-all": () => decideAll("rejected"),
      accept: () => decide("set"),
      remove: () => decide("rejected"),
      elsewhere: COMMANDS["*"],
      done: () => finish("done"),
      part: () => finish("part"),
      skip: () => finish("skipped"),
      flag: COMMANDS["!"],
      undo: () => attempt(undo),
      redo: () => attempt(redo),
      "open-search": ALWAYS["/"],
      "open-help": ALWAYS["?"],
      "open-guide": () => panels.guide(guide, Boolean(store.isAlone), async (wanted) => takeGuide(await store.changeGuide(wanted, guideVersion))),
      annotator: () => panels.askName(annotator, enter),
      download: () => attempt(download),
    };
    for (const [id, work] of Object.entries(buttons)) at(id).addEventListener("click", () => store && act(work));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => store && (drawLabels(), draw()));
    document.addEventListener("visibilitychange", () => (document.hidden ? tick() : ((since = Date.now()), store && look())));
    window.addEventListener("beforeunload", (event) => store && store.waiting() && event.preventDefault());
    setInterval(() => store && !document.hidden && !store.isAlone && look(), POLL);
  }

  async function download() {
    const { name, text } = await settled(() => store.file());
    const link = made("a", null, "", { download: name });
    link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say(`${name}: ${counted(text.split("\n").length - 1, "sentence")}.`);
  }

  // -- the beginning

  const hear = {
    saved,
    state(kind, count) {
      const text = { saved: "saved", saving: "saving …", away: `${counted(count, "answer")} not saved yet: the server is away, they are kept here` }[kind];
      at("saved").textContent = text;
      at("saved").dataset.state = kind;
    },
    conflict(answer, found, decideIt) {
      const known = drafts.get(answer.sentence);
      panels.conflict(found.current, known ? known.words : [], (isMine) => {
        decideIt(isMine);
        if (!isMine && !item) attempt(async () => took(await settled(() => store.next())));
      });
    },
    refused(answer, message) {
      at("problem").replaceChildren(made("h2", "An answer was refused"), made("p", message));
      at("problem").hidden = false;
    },
    token: (again) => panels.askToken(again),
  };

  function problem(failure) {
    at("problem").replaceChildren(made("h2", "That did not work"), made("p", failure.message));
    at("problem").hidden = false;
  }

  async function enter(name) {
    annotator = name;
    localStorage.setItem(NAME, name);
    at("annotator").textContent = `You are ${name}`;
    const made_ = content ? labelling.alone(name, hear, content) : labelling.server(name, hear);
    try {
      const found = await made_.begin();
      session = found.session;
      store = made_;
      at("problem").hidden = true;
      at("name").textContent = `· ${found.name}`;
      document.title = `Label ${found.name}`;
      round = found.round;
      drafts.clear();
      takeGuide(found);
      at("progress").hidden = false;
      labelling.progress.show(found, Boolean(store.isAlone));
      await store.send();
      const next = await store.next();
      item = null;
      show(next.item, next.ahead);
      hear.state(store.waiting() ? "saving" : "saved", store.waiting());
    } catch (failure) {
      if (failure.status === 401) panels.askToken(() => enter(name));
      else if (failure.status === 422) {
        problem(failure);
        panels.askName("", enter);
      } else {
        problem(failure);
        setTimeout(() => enter(name), 2000); // until the server is back
      }
    }
  }

  listen();
  const known = localStorage.getItem(NAME);
  if (known) enter(known);
  else panels.askName("", enter);
})();
