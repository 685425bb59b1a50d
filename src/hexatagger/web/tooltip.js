/** What a relation means, beside the pointer or the focus. Escape closes it. */

import { element } from "./dom.js";
import { GROUPS, explain } from "./relations.js";

/** Explain relations inside `place`: those of arcs and labels that are pointed at, and of words reached with keys. */
export function explainRelations(place, tip) {
  const show = (deprel, target) => {
    const { group, name, text } = explain(deprel);
    if (!name) return;
    tip.replaceChildren(element("b", { class: `g-${group}` }, deprel), ` ${name}: ${text}. `, element("span", { class: "small" }, GROUPS[group]));
    tip.hidden = false;
    const box = target.getBoundingClientRect();
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const below = box.bottom + 6 + high < innerHeight;
    tip.style.left = `${Math.max(4, Math.min(box.left + box.width / 2 - wide / 2, innerWidth - wide - 4))}px`;
    tip.style.top = `${below ? box.bottom + 6 : Math.max(4, box.top - high - 6)}px`;
  };
  const hide = () => (tip.hidden = true);
  place.addEventListener("mouseover", (event) => {
    const found = event.target.closest("[data-deprel]");
    if (found) show(found.dataset.deprel, found.querySelector(".label") ?? found);
    else hide();
  });
  place.addEventListener("mouseleave", hide);
  place.addEventListener("focusin", (event) => {
    const word = event.target.closest(".word");
    if (!word?.matches(":focus-visible")) return;
    const arc = place.querySelector(`.arc[data-dependent="${word.dataset.word}"]`);
    if (arc) show(arc.dataset.deprel, word);
    word.setAttribute("aria-describedby", tip.id);
  });
  place.addEventListener("focusout", (event) => {
    event.target.closest(".word")?.removeAttribute("aria-describedby"); // what is hidden would still be read
    hide();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("scroll", hide, { capture: true, passive: true });
}
