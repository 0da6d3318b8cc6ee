// Asks the server what to show, and shows it. Markup comes from the server, which escapes every text in it; all
// else goes in as text only.
(() => {
  "use strict";
  const token = location.hash.slice(1);
  const page = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
  const one = (selector) => document.querySelector(selector);
  let shown = null, busy = 0, over = false, graphed = false;

  function say(text) { one(".said").textContent = text; }

  function put(place, markup) {
    const parsed = new DOMParser().parseFromString(`<body>${markup}</body>`, "text/html");
    place.replaceChildren(...[...parsed.body.childNodes].map((node) => document.importNode(node, true)));
  }

  function made(name, text, kind) {
    const element = document.createElement(name);
    if (text) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  }

  async function ask(question, { keepalive = false } = {}) {
    busy += 1;
    document.body.classList.add("busy");
    try {
      const answer = await fetch("/ask", {
        method: "POST", keepalive,
        headers: { "Content-Type": "application/json", "X-Rota-Token": token },
        body: JSON.stringify({ page, ...question }),
      });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      ended("");
      return await answer.json();
    } catch (error) {
      if (!keepalive) ended(error instanceof TypeError ? "The server has ended. Run `rota play` again." : error.message);
      return null;
    } finally {
      busy -= 1;
      if (!busy) document.body.classList.remove("busy");
    }
  }

  function ended(why) {
    over = Boolean(why);
    one(".ended").hidden = !why;
    one(".ended").textContent = why;
  }

  // Something that moves to another state. Two at once would be one too many.
  async function go(question) {
    if (busy || over && question.do !== "look") return;
    const answer = await ask({ version: shown?.version, ...question });
    if (!answer) return;
    if (answer.error) {
      complain(answer.error);
      return;
    }
    complain("");
    show(answer);
  }

  async function complain(text) {
    one("#jump-error").textContent = text;
    if (text.includes("another window")) show(await ask({ do: "look" }));
  }

  function show(now) {
    if (!now || now.error) return;
    const first = !shown;
    shown = now;
    if (first) showHead(now);
    one(".now").textContent = now.at;
    one(".of").textContent = now.last;
    disable("back", now.at === 0);
    disable("first", now.at === 0);
    disable("forward", now.at === now.last);
    one(".now-panel .when").textContent = now.at ? ` after step ${now.at}: ${now.step}` : " at the start";
    const open = new Set([...document.querySelectorAll(".state details[open]")].map((each) => each.dataset.machine));
    const known = new Set([...document.querySelectorAll(".state details")].map((each) => each.dataset.machine));
    put(one(".state"), now.state);
    for (const each of document.querySelectorAll(".state details")) {
      if (known.has(each.dataset.machine)) each.open = open.has(each.dataset.machine);
    }
    const unfolded = Boolean(one(".lights details")?.open);
    put(one(".lights"), now.lights);
    if (unfolded && one(".lights details")) one(".lights details").open = true;
    put(one(".owners"), now.owners);
    if (now.notice) one(".lights").prepend(made("p", now.notice, "notice"));
    showRun(now);
    showOffers(now);
    put(one(".refused"), now.refused);
    const count = one(".refused").querySelectorAll("li").length;
    one("#not-possible").textContent = count ? `Not possible now, and why (${count})` : "Nothing is said of what is not possible";
    one(".preview").replaceChildren();
    const said = now.at ? `Step ${now.at}: ${now.step}` : "At the start";
    say(`${said}; ${document.querySelectorAll(".move").length} moves are possible`);
    if (!one("#graph").hidden) draw();
  }

  function showHead(now) {
    document.title = `rota play: ${now.title}`;
    one("#title").textContent = now.title;
    one(".top .facts").replaceChildren(...Object.entries(now.facts).map(([name, text]) => {
      const fact = made("div");
      fact.append(made("dt", name), made("dd", text));
      return fact;
    }));
    one("#expressions").replaceChildren(...now.examples.map((text) => {
      const option = made("option");
      option.value = text;
      return option;
    }));
  }

  function disable(name, is) {
    for (const each of document.querySelectorAll(`[data-do="${name}"]`)) each.setAttribute("aria-disabled", is);
  }

  function showRun(now) {
    const place = one("#run");
    if (!now.chart) {
      place.replaceChildren(made("p", "Nothing has happened yet. Choose what happens first.", "empty"));
      return;
    }
    put(place, now.chart);
    const picture = place.querySelector(".picture");
    for (const row of picture.querySelectorAll(".event[data-step]")) {
      const step = Number(row.dataset.step);
      row.setAttribute("tabindex", "-1");
      row.classList.toggle("ahead", step > now.at);
      if (step === now.at) row.setAttribute("aria-current", "step");
    }
    const here = picture.querySelector(`.ground[data-step="${now.at}"]`);
    if (!here) return;
    here.classList.add("current");
    const view = picture.getBoundingClientRect(), row = here.getBoundingClientRect();
    picture.scrollTop += row.bottom - view.top - picture.clientHeight + 30;
  }

  function showOffers(now) {
    const focused = document.activeElement?.closest?.(".move");
    const parts = [];
    for (const offer of now.offers) {
      if (!offer.moves.length && !offer.mistake) continue;
      parts.push(made("h3", offer.title));
      if (offer.mistake) parts.push(made("p", `A mistake in this system: ${offer.mistake}`, "mistake"));
      const list = made("ul");
      list.append(...offer.moves.map((move) => {
        const item = made("li");
        item.append(button(move));
        return item;
      }));
      parts.push(list);
    }
    if (!now.offers.some((offer) => offer.moves.length)) {
      parts.push(made("p", "Nothing is possible here: nothing leads on from this state.", "none"));
    }
    one(".offers").replaceChildren(...parts);
    if (focused) one(".move")?.focus({ preventScroll: true });
  }

  function button(move) {
    const place = made("button", "", "move");
    place.type = "button";
    place.dataset.number = move.number;
    const key = move.number < 9 ? String(move.number + 1) : "";
    if (key) place.setAttribute("aria-keyshortcuts", key);
    place.append(made("kbd", key, "key"), made("span", move.label, "label"));
    if (move.breaks.length) {
      place.classList.add("violates");
      place.append(made("span", `✗ violates ${move.breaks.join(", ")}`, "badge violated"));
    } else if (move.still) place.append(made("span", "changes nothing", "badge"));
    if (move.rules.length) place.append(made("span", move.rules.join(" · "), "slugs"));
    place.addEventListener("click", () => take(move.number));
    place.addEventListener("mouseenter", () => preview(move));
    place.addEventListener("focus", () => preview(move));
    return place;
  }

  function take(number) { go({ do: "step", number }); }

  function preview(move) {
    put(one(".preview"), move.preview);
    one(".preview").scrollTop = 0;
    for (const each of one(".preview").querySelectorAll("a[href]")) each.removeAttribute("href");
  }

  // ---- the state graph

  async function draw(around) {
    const answer = await ask({ do: "graph", around: around || (graphed ? "" : "start") });
    if (!answer || answer.error) {
      one(".graph-said").textContent = answer?.error || "";
      return;
    }
    graphed = true;
    put(one(".graph-picture"), answer.svg);
    one(".graph-said").textContent = answer.said;
    // one of the nodes can be tabbed to; arrows lead to the others
    for (const each of document.querySelectorAll(".graph .node")) each.setAttribute("tabindex", "-1");
    (one(".graph .here") || one(".graph .node")).setAttribute("tabindex", "0");
    const here = one(".graph .here circle"), picture = one(".graph-picture");
    if (here) {
      const view = picture.getBoundingClientRect(), node = here.getBoundingClientRect();
      picture.scrollLeft += node.left - view.left - view.width / 2;
      picture.scrollTop += node.top - view.top - view.height / 2;
    }
    one(".graph-node").textContent = one(".graph .here title")?.textContent || "";
  }

  const AWAY = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  // The nearest node on that side of one.
  function beside(node, [x, y]) {
    const from = node.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const other of document.querySelectorAll(".graph .node")) {
      const to = other.getBoundingClientRect();
      const right = to.left - from.left, down = to.top - from.top;
      const along = right * x + down * y, aside = Math.abs(right * y) + Math.abs(down * x);
      if (along > 5 && along + 2 * aside < least) [best, least] = [other, along + 2 * aside];
    }
    return best;
  }

  function choose(tab) {
    for (const each of document.querySelectorAll("[role=tab]")) {
      const is = each === tab;
      each.setAttribute("aria-selected", is);
      each.tabIndex = is ? 0 : -1;
      one(`#${each.getAttribute("aria-controls")}`).hidden = !is;
    }
    if (tab.id === "tab-graph") draw();
    else if (shown) showRun(shown);
  }

  // ---- what a person does

  async function save() {
    const answer = await ask({ do: "save", expression: "" });
    if (!answer || answer.error) { complain(answer?.error || ""); return; }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([answer.content], { type: "application/x-ndjson" }));
    link.download = answer.name;
    link.click();
    URL.revokeObjectURL(link.href);
    say(`${answer.name} is saved: ${answer.what}`);
    const button = one('[data-do="save"]');
    button.textContent = "Saved ✓";
    button.title = answer.what;
    setTimeout(() => { button.textContent = "Save trace"; }, 1600);
  }

  const DO = {
    back: () => shown.at > 0 && go({ do: "to", at: shown.at - 1 }),
    forward: () => shown.at < shown.last && go({ do: "to", at: shown.at + 1 }),
    first: () => go({ do: "to", at: 0 }),
    last: () => go({ do: "to", at: shown.last }),
    save,
    "graph-start": () => draw("start"),
    "graph-here": () => draw("here"),
    walk: () => go({ do: "walk", steps: Number(one(".walk .steps").value), seed: Math.floor(Math.random() * 2 ** 31) }),
  };
  const KEYS = { Backspace: "back", ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last", s: "save", r: "walk" };

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !shown) return;
    if (event.target.closest("input, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const tab = event.target.closest("[role=tab]");
    if (tab && /^Arrow(Left|Right)$/.test(event.key)) {
      const other = [...document.querySelectorAll("[role=tab]")].find((each) => each !== tab);
      choose(other);
      other.focus();
      event.preventDefault();
      return;
    }
    const node = event.target.closest(".graph .node");
    if (node && event.key in AWAY) {
      beside(node, AWAY[event.key])?.focus();
      event.preventDefault();
      return;
    }
    if (/^[1-9]$/.test(event.key)) {
      const move = one(`.move[data-number="${Number(event.key) - 1}"]`);
      if (move) take(Number(event.key) - 1);
    } else if (event.key === "/") one("#expression").focus();
    else if (event.key in KEYS) DO[KEYS[event.key]]();
    else return;
    event.preventDefault();
  }

  addEventListener("DOMContentLoaded", () => {
    document.addEventListener("keydown", key);
    document.addEventListener("click", (event) => {
      const name = event.target.closest("[data-do]")?.dataset.do;
      if (name && shown) DO[name]();
      const tab = event.target.closest("[role=tab]");
      if (tab) choose(tab);
      const link = event.target.closest("a[href]");
      if (!link) return;
      const step = /^#at-(\d+)$/.exec(link.getAttribute("href")), node = link.dataset.node;
      if (step || node) event.preventDefault();
      if (step) go({ do: "to", at: Number(step[1]) });
      else if (node) go({ do: "node", number: Number(node) });
    });
    for (const kind of ["mouseover", "focusin"]) {
      one(".graph-picture").addEventListener(kind, (event) => {
        const node = event.target.closest("[data-node]");
        if (node) one(".graph-node").textContent = node.querySelector("title").textContent;
      });
    }
    one(".walk").addEventListener("submit", (event) => { event.preventDefault(); DO.walk(); });
    one(".jump").addEventListener("submit", (event) => {
      event.preventDefault();
      go({ do: "jump", expression: one("#expression").value });
    });
    go({ do: "look" });
  });
  addEventListener("pagehide", () => { ask({ do: "bye" }, { keepalive: true }); });
  addEventListener("pageshow", (event) => { if (event.persisted) go({ do: "look" }); });
})();
