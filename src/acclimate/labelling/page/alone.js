"use strict";
// The store of a page without a server: sentences stand in the page, answers in the browser and in the file to download.
labelling.alone = (annotator, hear, content) => {
  const { tagsOf } = labelling.spans;
  const items = new Map(content.items.map((item) => [item.id, item]));
  const place = `acclimate-alone ${content.session} ${annotator}`;
  let shown = null;

  // steps are lists of answers; the first `count` of them count
  function kept() {
    try {
      return JSON.parse(localStorage.getItem(place)) || { steps: [], count: 0, seconds: 0 };
    } catch {
      return { steps: [], count: 0, seconds: 0 };
    }
  }
  function keep(state) {
    localStorage.setItem(place, JSON.stringify(state)); // throws when the browser's place is full
    hear.state("saved", 0);
  }
  function answers(state = kept()) {
    const found = new Map();
    for (const step of state.steps.slice(0, state.count)) for (const answer of step) found.set(answer.sentence, answer);
    return found;
  }
  function take(step) {
    const state = kept();
    const seconds = state.seconds + step.reduce((sum, one) => sum + one.seconds, 0);
    keep({ steps: [...state.steps.slice(0, state.count), step], count: state.count + 1, seconds });
  }

  const itemOf = (id) => (id === null ? null : { ...items.get(id), answer: answers().get(id) || null, version: versionOf(id) });
  const versionOf = (id) => {
    const { steps, count } = kept();
    return steps.slice(0, count).filter((step) => step.some((one) => one.sentence === id)).length;
  };
  function nextOf(besides) {
    const found = answers();
    const isOpen = (id) => !found.has(id) || found.get(id).isUnread;
    const open = [...items.keys()].find((id) => id !== besides && isOpen(id));
    if (open) return open;
    const skipped = [...found.values()].find((one) => ["skipped", "part"].includes(one.status) && one.sentence !== besides);
    return skipped ? skipped.sentence : null;
  }
  function view(show) {
    const found = shown === null ? null : answers().get(shown);
    if (show) shown = show;
    else if (shown === null || (found && !found.isUnread)) shown = nextOf(null);
    const ahead = nextOf(shown);
    return { item: itemOf(shown), ahead: ahead === shown ? null : itemOf(ahead) };
  }

  function step(by) {
    const state = kept();
    const count = state.count + by;
    if (count < 0 || count > state.steps.length) return { isChanged: false, sentences: [], ...view() };
    const sentences = state.steps[Math.min(count, state.count)].map((one) => one.sentence);
    keep({ ...state, count });
    if (by > 0) shown = null;
    return { isChanged: true, sentences, ...view(by < 0 ? sentences[0] : null) };
  }

  const lower = (words) => words.map((word) => word.toLowerCase());
  function placesOf(item, wanted) {
    const words = lower(item.words);
    const answer = answers().get(item.id);
    if (answer && answer.status !== "part" && answer.status !== "skipped") return [];
    const decided = answer ? [...answer.spans, ...answer.rejected] : [];
    const found = [];
    for (let start = 0; start + wanted.length <= words.length; start++) {
      const end = start + wanted.length;
      const isHere = wanted.every((word, at) => word === words[start + at]);
      if (!isHere || decided.some(([from, to]) => from < end && start < to)) continue;
      const around = { before: item.words.slice(Math.max(0, start - 6), start), after: item.words.slice(end, end + 6) };
      found.push({ place: [item.id, start, end], words: item.words.slice(start, end), ...around });
      start = end - 1;
    }
    return found;
  }

  function labelElsewhere(words, label, places) {
    const found = answers();
    const byId = new Map();
    for (const [id, start, end] of places) byId.set(id, [...(byId.get(id) || []), [start, end, label]]);
    const made = [...byId].map(([sentence, spans]) => {
      const old = found.get(sentence);
      const base = old && old.status === "part" ? old : { sentence, status: "part", spans: [], rejected: [], open: [], note: "" };
      const every = [...base.spans, ...spans].sort((a, b) => a[0] - b[0]);
      return { ...base, spans: every, seconds: 0, seen: 0, isUnread: !old || Boolean(old.isUnread) };
    });
    take(made);
    return { sentences: [...byId.keys()], places: places.length, left: 0 };
  }

  function progress() {
    const state = kept();
    const found = [...answers(state).values()];
    const count = (status) => found.filter((one) => one.status === status).length;
    const done = found.filter((one) => one.status === "done");
    const mine = {
      sentences: items.size,
      done: done.length,
      part: count("part"),
      skipped: count("skipped"),
      flagged: count("flagged"),
      held_back: done.filter((one) => items.get(one.sentence).heldBack).length,
      words: done.reduce((sum, one) => sum + items.get(one.sentence).words.length, 0),
      spans: found.reduce((sum, one) => sum + (one.status === "done" || one.status === "part" ? one.spans.length : 0), 0),
      seconds: state.seconds,
    };
    const learner = { state: "off", answersLeft: 0, problem: "", facts: null };
    return { number: state.count, guideVersion: 0, mine, all: mine, annotators: [annotator], agreement: [], rounds: [], round: content.round, learner };
  }

  function file() {
    const labels = content.guide.labels;
    const lines = [];
    for (const answer of answers().values()) {
      if (answer.status === "skipped") continue;
      const { words } = items.get(answer.sentence);
      const isLabelled = answer.status !== "flagged";
      const tags = isLabelled ? tagsOf(answer, words.length, labels) : words.map(() => "O|*");
      lines.push(JSON.stringify({ words, tags, id: answer.sentence, annotator, answer }));
    }
    return { name: `labelled-by-${annotator.replace(/[^\p{L}\p{N}]+/gu, "-")}.jsonl`, text: lines.map((line) => `${line}\n`).join("") };
  }

  return {
    isAlone: true,
    begin: async () => ({ session: content.session, name: content.name, guide: content.guide, ...progress() }),
    answer(fields, show) {
      try {
        take([fields]);
      } catch (failure) {
        hear.refused(fields, `The browser could not keep it: ${failure.message}`);
        return;
      }
      if (shown === fields.sentence) shown = null;
      hear.saved({ versions: { [fields.sentence]: versionOf(fields.sentence) }, ...view(show) }, 0);
    },
    send: async () => hear.state("saved", 0),
    waiting: () => 0,
    next: async (show = null) => view(show),
    undo: async () => step(-1),
    redo: async () => step(1),
    search: async (text) => {
      const found = answers();
      const wanted = text.toLowerCase().trim();
      const hits = content.items.filter((item) => wanted && item.words.join(" ").toLowerCase().includes(wanted)).slice(0, 100);
      return { hits: hits.map(({ id, words }) => ({ id, words, status: found.has(id) ? found.get(id).status : null })) };
    },
    elsewhere: async (words) => ({ places: content.items.filter((item) => !item.heldBack).flatMap((item) => placesOf(item, lower(words))) }),
    labelElsewhere: async (words, label, places) => labelElsewhere(words, label, places),
    changeGuide: async () => {
      throw new Error("Only whoever made this page can change its labels.");
    },
    progress: async () => progress(),
    file: async () => file(),
  };
};
