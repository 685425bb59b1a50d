/** Light or dark: as the system has it, or as the visitor chose. Not a module, so that it runs before the page is painted. */

(() => {
  const KEY = "hexatagger-theme";
  const apply = (theme) => (document.documentElement.dataset.theme = theme);
  let stored = "auto";
  try {
    stored = localStorage.getItem(KEY) ?? "auto";
  } catch {
    // Storage is not allowed: the choice holds for this page only.
  }
  apply(stored);
  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    choice.value = stored;
    choice.addEventListener("change", () => {
      apply(choice.value);
      try {
        localStorage.setItem(KEY, choice.value);
      } catch {
        // As above.
      }
    });
  });
})();
