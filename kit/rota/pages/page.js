// Makes stories selectable: one step at a time, by keys, buttons, links and clicks. All of it is in the page
// already; what comes from a story goes in as text only.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");

  const kept = {
    get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(name, value); } catch { /* a page from a file may not */ } },
  };
  const theme = kept.get("rota-theme");
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;

  function say(text) {
    const place = document.querySelector(".said");
    if (place) place.textContent = text;
  }

  function switchTheme() {
    const night = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme || night) === "dark" ? "light" : "dark";
    kept.set("rota-theme", root.dataset.theme);
    say(`${root.dataset.theme} colours`);
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { /* not allowed for pages from files in some browsers */ }
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    const focused = document.activeElement;
    area.select();
    let done = false;
    try { done = document.execCommand("copy"); } catch { /* nor that */ }
    area.remove();
    if (focused) focused.focus();
    return done;
  }

  async function copyFrom(button, text, what) {
    const done = await copy(text);
    const label = button.dataset.label ??= button.textContent;
    button.textContent = done ? "Copied ✓" : "Not allowed";
    say(done ? `${what} copied` : `${what} could not be copied; select the text instead`);
    setTimeout(() => { button.textContent = label; }, 1600);
    return done;
  }

  function prepareCopies() {
    for (const form of document.querySelectorAll(".form")) {
      const button = form.querySelector(".copy"), text = form.querySelector("pre");
      const name = form.querySelector("summary").textContent;
      form.before(button);
      button.hidden = false;
      button.textContent = name;
      form.parentElement.append(form);
      button.addEventListener("click", async () => {
        if (await copyFrom(button, text.textContent, name)) return;
        form.open = true;
        getSelection().selectAllChildren(text);
      });
    }
  }

  function prepareCommands() {
    for (const button of document.querySelectorAll("[data-copies]")) {
      button.hidden = false;
      button.addEventListener("click", () => copyFrom(button, button.dataset.copies, "Command"));
    }
  }

  // What is for who wants to know more is open until there is a script to open it.
  function fold() {
    for (const one of document.querySelectorAll("details.more")) one.open = false;
  }

  // On paper everything is open.
  function preparePrint() {
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not(.form):not([open])")];
      for (const one of closed) one.open = true;
    });
    addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
  }

  // The machines at each moment: what the page has of the start, and what changed from moment to moment.
  function machinesOf(player) {
    const data = player.querySelector("script.moments"), panel = player.querySelector(".machines");
    if (!data || !panel) return () => {};
    const { moments, texts } = JSON.parse(data.textContent);
    const places = [...panel.children];
    const when = panel.parentElement.querySelector(".when");

    function fill(place, [, value, fresh, captions, band, number, moved]) {
      const pill = place.querySelector(".pill");
      pill.textContent = texts[band];
      pill.hidden = !texts[band];
      pill.className = `pill band-${number}`;
      place.querySelector(".captions").textContent = captions.map((one) => texts[one]).join(" · ");
      place.querySelector(".moved").hidden = !moved;
      const marked = new Set(fresh);
      place.querySelector(".value").replaceChildren(
        ...texts[value].split("\n").map((text, at) => span(text, marked.has(at) ? "line fresh" : "line")));
    }

    return (index) => {
      const now = new Map();
      for (let at = 0; at <= index && at < moments.length; at++) {
        for (const entry of moments[at]) now.set(entry[0], entry);
      }
      for (const [position, entry] of now) if (places[position]) fill(places[position], entry);
      if (when) when.textContent = index ? ` after step ${index}` : " at the start";
    };
  }

  function span(text, name) {
    const one = document.createElement("span");
    if (name) one.className = name;
    one.textContent = text;
    return one;
  }

  function cursors(player) {
    return [...player.querySelectorAll(".strip")].map((strip) => {
      const bar = document.createElement("div");
      bar.className = "cursor";
      strip.append(bar);
      return (index) => {
        const head = strip.querySelector(`thead th[data-step="${index}"]`);
        for (const one of strip.querySelectorAll("thead [aria-current]")) one.removeAttribute("aria-current");
        if (!head) return;
        head.setAttribute("aria-current", "step");
        bar.style.left = `${head.offsetLeft}px`;
        bar.style.width = `${head.offsetWidth}px`;
        bar.style.height = `${strip.firstElementChild.offsetHeight}px`;
        const room = strip.querySelector(".corner")?.offsetWidth ?? 0;
        if (head.offsetLeft < strip.scrollLeft + room || head.offsetLeft + head.offsetWidth > strip.scrollLeft + strip.clientWidth) {
          strip.scrollLeft = head.offsetLeft - (strip.clientWidth + room) / 2;
        }
      };
    });
  }

  function prepare(player) {
    const last = Number(player.dataset.last);
    const steps = new Map([...player.querySelectorAll(".steps > [data-step]")].map((one) => [Number(one.dataset.step), one]));
    const rows = new Map([...player.querySelectorAll(".event[data-step]")].map((one) => [Number(one.dataset.step), one]));
    const grounds = new Map([...player.querySelectorAll(".ground[data-step]")].map((one) => [Number(one.dataset.step), one]));
    const picture = player.querySelector(".picture");
    const showMachines = machinesOf(player), showColumns = cursors(player);
    let chosen = -1;

    function choose(index, { quietly = false } = {}) {
      index = Math.max(0, Math.min(last, index));
      if (index === chosen) return;
      for (const [at, one] of steps) one.hidden = at !== index;
      for (const [at, one] of rows) {
        one.setAttribute("tabindex", at === index || (index === 0 && at === 1) ? "0" : "-1");
        if (at === index) one.setAttribute("aria-current", "step");
        else one.removeAttribute("aria-current");
      }
      for (const [at, one] of grounds) one.classList.toggle("current", at === index);
      chosen = index;
      player.querySelector(".now").textContent = index;
      for (const one of player.querySelectorAll("[data-go]")) {
        one.setAttribute("aria-disabled", index === (/first|previous/.test(one.dataset.go) ? 0 : last));
      }
      showMachines(index);
      for (const show of showColumns) show(index);
      inSight(index, quietly);
      if (quietly) return;
      history.replaceState(null, "", `#${player.dataset.link}${index}`);
      const label = steps.get(index)?.querySelector("h2")?.lastChild.textContent.trim() ?? "";
      say(`Step ${index} of ${last}: ${label}`);
    }

    // The chart scrolls within itself; the page follows where chart and step stand side by side.
    function inSight(index, quietly) {
      const ground = grounds.get(index);
      if (!ground) { picture.scrollTop = 0; return; }
      const view = picture.getBoundingClientRect(), row = ground.getBoundingClientRect();
      const titles = picture.querySelector(".titles").offsetHeight;
      const bottom = Math.min(view.top + picture.clientHeight, Math.max(innerHeight, view.top + titles + row.height));
      if (row.top < view.top + titles) picture.scrollTop -= view.top + titles - row.top + 40;
      else if (row.bottom > bottom) picture.scrollTop += row.bottom - bottom + 40;
      const below = ground.getBoundingClientRect().bottom - innerHeight;
      if (!quietly && below > 0 && matchMedia("(min-width: 1000px)").matches) scrollBy(0, below + 40);
    }

    const go = {
      first: () => choose(0),
      previous: () => choose(chosen - 1),
      next: () => choose(chosen + 1),
      last: () => choose(last),
    };
    for (const one of player.querySelectorAll("[data-go]")) one.addEventListener("click", go[one.dataset.go]);
    player.querySelector(".controls").hidden = false;
    const link = player.querySelector(".link");
    link.addEventListener("click", () => {
      const to = new URL(location.href);
      to.hash = `${player.dataset.link}${chosen}`;
      copyFrom(link, to.href, "Link");
    });
    for (const one of player.querySelectorAll("details")) {
      one.addEventListener("toggle", () => { for (const show of showColumns) show(chosen); });
    }
    return { player, choose, go, link: player.dataset.link, start: Number(player.dataset.chosen) };
  }

  const KEYS = {
    ArrowLeft: "previous", ArrowUp: "previous", k: "previous",
    ArrowRight: "next", ArrowDown: "next", j: "next",
    Home: "first", End: "last",
  };

  document.addEventListener("DOMContentLoaded", () => {
    for (const one of document.querySelectorAll(".theme")) {
      one.hidden = false;
      one.addEventListener("click", switchTheme);
    }
    prepareCopies();
    prepareCommands();
    fold();
    preparePrint();
    const players = [...document.querySelectorAll("[data-story]")].map(prepare);
    if (!players.length) return;
    let active = players[0];

    // The step that `#step-7` names, of the story whose links begin so.
    function follow(hash, options) {
      for (const player of players) {
        const index = hash.startsWith(`#${player.link}`) ? hash.slice(player.link.length + 1) : "";
        if (!/^\d{1,6}$/.test(index)) continue;
        active = player;
        player.choose(Number(index), options);
        return true;
      }
      return false;
    }

    for (const one of players) one.choose(one.start, { quietly: true });
    follow(location.hash);
    addEventListener("hashchange", () => follow(location.hash));
    document.addEventListener("click", (event) => {
      active = players.find((one) => one.player.contains(event.target)) ?? active;
      const href = event.target.closest("a[href]")?.getAttribute("href") ?? "";
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest(".skip")) return;
      if (follow(href)) event.preventDefault();
    });
    document.addEventListener("focusin", (event) => {
      active = players.find((one) => one.player.contains(event.target)) ?? active;
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !(event.key in KEYS)) return;
      if (event.target.closest("input, textarea, select, [contenteditable]")) return;
      event.preventDefault();
      active.go[KEYS[event.key]]();
      if (event.target.closest(".event")) {
        active.player.querySelector('.event[tabindex="0"]')?.focus({ preventScroll: true });
      }
    });
  });
})();
