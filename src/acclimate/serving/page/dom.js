"use strict";
// What all pages share: elements, whose text is never HTML, and questions to the server.
const dom = (() => {
  const at = (id) => document.getElementById(id);

  function made(name, text, className, attributes = {}) {
    const element = document.createElement(name);
    if (text !== undefined && text !== null) element.textContent = text;
    if (className) element.className = className;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  const failed = (message, status, answer) => Object.assign(new Error(message), { status, answer });

  // The answer to a GET, or with a `body` to a POST. A failure has the status; 0: the server was not heard.
  async function ask(path, token, body) {
    const headers = {};
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
    } catch {
      throw failed("The server does not answer. Is it still running?", 0);
    }
    if (response.ok && response.headers.get("Content-Type")?.startsWith("text/plain")) return response.text();
    let answer;
    try {
      answer = await response.json();
    } catch {
      throw failed(`The server answered with status ${response.status} and no JSON.`, 0);
    }
    if (response.ok) return answer;
    throw failed(answer.error ? answer.error.message : `Status ${response.status}.`, response.status, answer);
  }

  return { at, made, ask };
})();
