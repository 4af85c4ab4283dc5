"use strict";
// How far it is: counts, agreement, and what the tagger has learnt. Everything is set as text, never as HTML.
labelling.progress = (() => {
  const { at, made } = dom;
  const { counted } = labelling.panels;
  const percent = (share) => (100 * share).toFixed(1);

  function show(found, isAlone) {
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

  return { show };
})();
