// Leaves the cases of one part, one verdict, or with some words in them; opens the case that a link names.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    const form = document.querySelector(".filters"), none = document.querySelector(".none");
    const cases = [...document.querySelectorAll(".case")], groups = [...document.querySelectorAll(".group")];
    const words = new Map(cases.map((one) => [one, one.textContent.toLowerCase()]));
    const { target, part, verdict, find, left } = form?.elements ?? {};

    function leaves(one) {
      const all = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      return (!target?.value || one.dataset.target === target.value)
        && (!part.value || one.dataset.part === part.value)
        && (!verdict.value || one.dataset.verdict === verdict.value)
        && all.every((word) => words.get(one).includes(word));
    }

    function filter() {
      const asked = Boolean(target?.value || part.value || verdict.value || find.value.trim());
      let count = 0;
      for (const one of cases) {
        one.hidden = !leaves(one);
        count += one.hidden ? 0 : 1;
      }
      for (const group of groups) {
        group.hidden = !group.querySelector(".case:not([hidden])");
        if (asked && group.tagName === "DETAILS") group.open = true;
      }
      none.hidden = count > 0;
      left.value = `${count} of ${cases.length}`;
    }

    function follow() {
      const one = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!one?.matches(".case")) return;
      for (let at = one; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
      one.scrollIntoView();
    }

    if (form) {
      form.hidden = false;
      form.addEventListener("input", filter);
      form.addEventListener("submit", (event) => event.preventDefault());
      filter();
    }
    follow();
    addEventListener("hashchange", follow);
    document.addEventListener("click", (event) => {  // the place is there already: it is no change
      if (event.target.closest?.("a[href^='#']")?.hash === location.hash) follow();
    });
  });
})();
