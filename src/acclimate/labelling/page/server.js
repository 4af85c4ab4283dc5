"use strict";
// The store of a page with a server. Answers wait in an outbox, which the browser keeps, until the server has them on its disk.
labelling.server = (annotator, hear) => {
  const PAUSES = [500, 1000, 2000, 4000];
  let session = "";
  let isSending = false;
  let isHeld = false; // by a conflict, until somebody decides
  let failures = 0;
  let memory = null; // the outbox, where the browser has no room for it

  const token = () => sessionStorage.getItem("acclimate-token");
  const ask = (path, body = {}) => dom.ask(`v1/${path}`, token(), { annotator, ...body });

  const place = () => `acclimate-outbox ${session} ${annotator}`;
  function outbox() {
    if (memory) return memory;
    try {
      return JSON.parse(localStorage.getItem(place())) || [];
    } catch {
      return [];
    }
  }
  function keep(entries) {
    try {
      if (entries.length) localStorage.setItem(place(), JSON.stringify(entries));
      else localStorage.removeItem(place());
      memory = null;
    } catch {
      memory = entries; // the browser keeps nothing for us: this tab must stay open until they are sent
    }
    tell();
  }
  function tell() {
    const count = outbox().length;
    hear.state(count === 0 ? "saved" : failures ? "away" : "saving", count);
  }

  async function begin() {
    const found = await ask("begin");
    session = found.session;
    return found;
  }

  function answer(fields, show) {
    const key = `${Date.now()} ${Math.random()}`;
    keep([...outbox(), { key, answer: fields, show }]);
    send();
  }

  // one tab at a time sends, where the browser knows locks
  async function send() {
    if (isSending || isHeld) return;
    isSending = true;
    const work = async () => {
      while (!isHeld && outbox().length) await sendFirst();
    };
    try {
      await (navigator.locks ? navigator.locks.request(place(), work) : work());
    } finally {
      isSending = false;
      tell();
    }
  }

  async function sendFirst() {
    const [first] = outbox();
    try {
      const found = await ask("answers", { answers: [first.answer], show: first.show });
      failures = 0;
      const version = found.versions[first.answer.sentence];
      const rest = outbox().filter((one) => one.key !== first.key);
      for (const one of rest) if (one.answer.sentence === first.answer.sentence) one.answer.seen = version;
      keep(rest);
      hear.saved(found, rest.length);
    } catch (failure) {
      await refused(first, failure);
    }
  }

  async function refused(entry, failure) {
    if (failure.status === 409) {
      isHeld = true;
      hear.conflict(entry.answer, failure.answer, (isMine) => decide(entry, failure.answer.version, isMine));
    } else if (failure.status === 401) {
      isHeld = true;
      hear.token(() => release());
    } else if (failure.status >= 400 && failure.status < 500 && failure.status !== 408 && failure.status !== 429) {
      keep(outbox().filter((one) => one.key !== entry.key)); // it would be refused forever
      hear.refused(entry.answer, failure.message);
    } else {
      failures += 1;
      tell();
      await new Promise((go) => setTimeout(go, PAUSES[Math.min(failures, PAUSES.length) - 1]));
    }
  }

  function decide(entry, version, isMine) {
    const rest = outbox();
    if (isMine) for (const one of rest) if (one.key === entry.key) one.answer.seen = version;
    keep(isMine ? rest : rest.filter((one) => one.key !== entry.key));
    release();
  }
  function release() {
    isHeld = false;
    send();
  }

  return {
    begin,
    answer,
    send,
    waiting: () => outbox().length,
    next: (show = null) => ask("next", { show }),
    undo: () => ask("undo"),
    redo: () => ask("redo"),
    search: (text) => ask("search", { text }),
    elsewhere: (words) => ask("elsewhere", { words }),
    labelElsewhere: (words, label, places) => ask("elsewhere/label", { words, label, places }),
    changeGuide: (guide, seen) => ask("guide", { ...guide, seen }),
    progress: (sentence) => ask("progress", { sentence }),
    file: async () => ({ name: "labelled.jsonl", text: await ask("corpus") }),
  };
};
