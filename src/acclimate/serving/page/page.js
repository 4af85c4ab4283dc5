"use strict";
// A text, and the entities that the taggers find in it.
(() => {
  const { at, made } = dom;
  const EXAMPLE =
    "Anna Schmidt works for Siemens in Munich. On Friday she met Tim Cook at the World Economic Forum in Davos " +
    "👋 and flew home from Zurich.";
  const COLOURS = 6;
  let models = [];
  let answers = null; // of the last request, by tagger
  let busy = false;

  async function asked(path, body) {
    try {
      return await dom.ask(path, at("token").value, body);
    } catch (failure) {
      if (failure.status === 401) at("token-row").hidden = false;
      throw failure;
    }
  }

  function showProblem(failure) {
    const place = at("problem");
    const isToken = failure.status === 401;
    place.replaceChildren(
      made("h2", isToken ? "This server asks for a token" : "That did not work"),
      made("p", isToken ? "Write it in the field above, and find entities again." : failure.message),
    );
    place.hidden = false;
    if (isToken) at("token").focus();
  }

  async function loadModels() {
    models = (await asked("v1/models")).models;
    const chosen = at("model").value;
    const offered = models.filter((one) => !models.some((other) => other.before === one.name));
    const options = offered.map((one) => {
      const option = made("option", one.before ? `${one.name}, before and after` : one.name);
      option.value = one.name;
      return option;
    });
    at("model").replaceChildren(...options);
    if (offered.some((one) => one.name === chosen)) at("model").value = chosen;
    aboutModel();
  }

  const chosenModel = () => models.find((one) => one.name === at("model").value) || models[0];

  function aboutModel() {
    const model = chosenModel();
    if (!model) return;
    const labels = model.labels.length > 12 ? [...model.labels.slice(0, 12), "…"] : model.labels;
    at("about-model").textContent = `Its labels: ${labels.join(", ")}.`;
  }

  const keyOf = (entity) => `${entity.start} ${entity.end} ${entity.label}`;

  // offsets count code points, and strings of JavaScript are made of UTF-16 units
  function marked(letters, entities, colours, others, sign) {
    const paragraph = made("p");
    let end = 0;
    for (const entity of entities) {
      paragraph.append(letters.slice(end, entity.start).join(""));
      const mark = made("mark", undefined, colours.get(entity.label));
      mark.append(letters.slice(entity.start, entity.end).join(""), "\u00a0"); // the label stays beside the word
      const isAlone = others && !others.has(keyOf(entity));
      const remark = isAlone ? ` ${sign.word}` : "";
      mark.append(made("small", `${entity.label} ${entity.score.toFixed(2)}${remark}`));
      if (isAlone) mark.classList.add(sign.name);
      paragraph.append(mark);
      end = entity.end;
    }
    paragraph.append(letters.slice(end).join(""));
    return paragraph;
  }

  function showAnswers(text) {
    const found = [...answers.values()];
    const counts = new Map();
    for (const entity of found[found.length - 1]) counts.set(entity.label, (counts.get(entity.label) || 0) + 1);
    for (const entity of found[0]) if (!counts.has(entity.label)) counts.set(entity.label, 0);
    const known = chosenModel().labels;
    const colours = new Map([...counts.keys()].map((label) => [label, `label-${(Math.max(0, known.indexOf(label)) % COLOURS) + 1}`]));
    at("legend").replaceChildren(
      ...[...counts].sort().map(([label, count]) => {
        const item = made("li", `${label} `, colours.get(label));
        item.append(made("small", String(count)));
        return item;
      }),
    );
    const letters = Array.from(text);
    const isPair = answers.size === 2;
    const keys = found.map((entities) => new Set(entities.map(keyOf)));
    const signs = [{ name: "gone", word: "(gone)" }, { name: "new", word: "(new)" }];
    const views = [...answers].map(([name, entities], number) => {
      const view = made("div", undefined, "view");
      const title = isPair ? `${number ? "After" : "Before"} adaptation: ${name}` : name;
      view.append(made("h3", title), marked(letters, entities, colours, isPair && keys[1 - number], signs[number]));
      return view;
    });
    at("views").classList.toggle("single", !isPair);
    at("views").replaceChildren(...views);
    at("result").hidden = false;
  }

  const counted = (count) => (count === 0 ? "no entity" : count === 1 ? "1 entity" : `${count} entities`);

  function said() {
    const counts = [...answers.values()].map((entities) => counted(entities.length));
    return counts.length === 2 ? `Before adaptation ${counts[0]}, after it ${counts[1]}.` : `Found ${counts[0]}.`;
  }

  async function find() {
    if (busy) return;
    const text = at("text").value;
    if (!text.trim()) {
      at("status").textContent = "There is no text yet. Write some, or take the example.";
      at("text").focus();
      return;
    }
    busy = true;
    const button = document.querySelector("button.main");
    button.setAttribute("aria-disabled", "true");
    at("problem").hidden = true;
    at("status").textContent = "Finding entities …";
    try {
      if (!models.length) await loadModels();
      const model = chosenModel();
      const names = model.before ? [model.before, model.name] : [model.name];
      const found = await Promise.all(names.map((name) => asked("v1/entities", { text, model: name })));
      answers = new Map(found.map((answer) => [answer.model, answer.entities]));
      showAnswers(text);
      at("status").textContent = said();
    } catch (failure) {
      at("result").hidden = true;
      at("status").textContent = "";
      showProblem(failure);
    } finally {
      busy = false;
      button.removeAttribute("aria-disabled");
    }
  }

  async function copy() {
    const shown = JSON.stringify(answers.size === 1 ? [...answers.values()][0] : Object.fromEntries(answers), null, 1);
    try {
      await navigator.clipboard.writeText(shown);
      at("status").textContent = "Copied as JSON.";
    } catch { // over plain HTTP from another machine the clipboard is closed
      const area = made("textarea", undefined, "copied");
      area.value = shown;
      document.body.append(area);
      area.select();
      const isDone = document.execCommand("copy");
      area.remove();
      at("copy").focus();
      at("status").textContent = isDone ? "Copied as JSON." : "The browser does not let this page copy.";
    }
  }

  at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    find();
  });
  at("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      find();
    }
  });
  at("example").addEventListener("click", () => {
    at("text").value = EXAMPLE;
    find();
  });
  at("model").addEventListener("change", () => {
    aboutModel();
    if (answers && at("text").value.trim()) find();
  });
  at("copy").addEventListener("click", copy);
  loadModels().catch(showProblem);
})();
