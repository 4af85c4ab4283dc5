"use strict";
// What stands on the screen as data: marks on the words of a sentence, and the keys of labels. Nothing here draws.
//
// A mark is {start, end, label, score, state}: `set` (it is there), `open` (suggested, nobody decided), or `rejected`.
// Marks that are set or open never overlap. Every function gives new marks, and leaves the old ones as they are.
const labelling = {};

labelling.spans = (() => {
  const isSame = (one, other) => one.start === other.start && one.end === other.end && one.label === other.label;
  const touch = (one, other) => one.start < other.end && other.start < one.end;
  const byPlace = (one, other) => one.start - other.start || one.end - other.end || (one.label < other.label ? -1 : 1);
  const asMark = ([start, end, label, score], state) => ({ start, end, label, score: score === undefined ? null : score, state });
  const asFields = (mark) => [mark.start, mark.end, mark.label];

  // suggestions that touch what was answered are decided already
  function marksOf(item) {
    const answer = item.answer;
    const suggested = item.suggestions.map((one) => asMark(one, "open"));
    if (!answer) return suggested;
    const known = [
      ...answer.spans.map((one) => asMark(one, "set")),
      ...answer.open.map((one) => asMark(one, "open")),
      ...answer.rejected.map((one) => asMark(one, "rejected")),
    ];
    for (const mark of known) {
      const suggestion = suggested.find((one) => isSame(one, mark));
      if (suggestion) mark.score = suggestion.score;
    }
    const more = answer.status === "done" ? [] : suggested.filter((one) => !known.some((mark) => touch(mark, one)));
    return [...known, ...more].sort(byPlace);
  }

  function set(marks, start, end, label) {
    const wanted = { start, end, label, score: null, state: "set" };
    const old = marks.find((one) => isSame(one, wanted));
    if (old && old.state === "set") return remove(marks, old);
    if (old) wanted.score = old.score;
    const kept = [];
    for (const mark of marks) {
      if (isSame(mark, wanted)) continue;
      if (mark.state === "rejected" || !touch(mark, wanted)) kept.push(mark);
      else if (mark.score !== null) kept.push({ ...mark, state: "rejected" });
    }
    return [...kept, wanted].sort(byPlace);
  }

  // a suggestion that is removed is rejected; any other mark is gone
  function remove(marks, mark) {
    return mark.score === null ? marks.filter((one) => one !== mark) : changed(marks, mark, "rejected");
  }

  const changed = (marks, mark, state) => marks.map((one) => (one === mark ? { ...one, state } : one));
  const decideAll = (marks, state) => marks.map((one) => (one.state === "open" ? { ...one, state } : one));
  const markAt = (marks, word) => marks.find((one) => one.state !== "rejected" && one.start <= word && word < one.end);

  function answerOf(item, marks, status, note, seconds) {
    const of = (state) => marks.filter((one) => one.state === state).map(asFields);
    const spans = { spans: of("set"), rejected: of("rejected"), open: of("open") };
    return { sentence: item.id, status, ...spans, note: note || "", seconds: Math.min(86400, seconds), seen: item.version };
  }

  // one tag per word, as `Answer.tags` of the package gives them
  function tagsOf(answer, length, labels) {
    const hidden = Array.from({ length }, () => new Set(answer.status === "done" ? [] : ["*"]));
    for (const [start, end] of answer.open) for (let at = start; at < end; at++) hidden[at] = new Set(["*"]);
    for (const [start, end, label] of answer.rejected)
      for (let at = start; at < end; at++) {
        if (hidden[at].has("*")) hidden[at] = new Set(labels);
        hidden[at].delete(label);
      }
    const tags = hidden.map((some) => ["O", ...[...some].sort()].join("|"));
    for (const [start, end, label] of answer.spans)
      for (let at = start; at < end; at++) tags[at] = `${at === start ? "B" : "I"}-${label}`;
    return tags;
  }

  // The keys of each label: its initial; where several share one, a second key after it.
  function keysOf(labels) {
    const COMPOSED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u; // no single key types these
    const groups = new Map();
    for (const label of labels) {
      const letter = Array.from(label.toLowerCase()).find((each) => /[\p{L}\p{N}]/u.test(each));
      const first = !letter || COMPOSED.test(letter) ? "0" : letter;
      groups.set(first, [...(groups.get(first) || []), label]);
    }
    const keys = new Map();
    for (const [first, own] of groups) {
      if (own.length === 1) keys.set(own[0], first);
      else for (const [label, second] of secondKeys(own)) keys.set(label, first + second);
    }
    return keys;
  }

  function secondKeys(labels) {
    const taken = new Set();
    const found = new Map();
    const spare = [..."123456789abcdefghijklmnopqrstuvwxyz"]; // 0 begins a number, once these are used up
    for (const label of labels) {
      const letters = Array.from(label.toLowerCase()).slice(1).filter((letter) => /[a-z1-9]/.test(letter));
      const own = letters.find((letter) => !taken.has(letter)) || spare.find((key) => !taken.has(key)) || `0${taken.size}`;
      taken.add(own);
      found.set(label, own);
    }
    return found;
  }

  return { marksOf, set, remove, changed, decideAll, markAt, answerOf, tagsOf, keysOf, isSame };
})();
