// Finds untranslated and cut texts in a page whose made-up language puts each text
// between marks. Runs in the page.

window.marks = {
  /** Return the texts outside marks, including those for screen readers. */
  unmarked() {
    const copy = document.querySelector("body").cloneNode(true);
    // Texts in no language: names of people and services, and codes.
    const named =
      "[data-own], bdi, code, .brand, .languages, .mark, .code, [data-card=mark]";
    for (const each of copy.querySelectorAll(`${named}, script, template, noscript`))
      each.remove();
    const attributes = [...copy.querySelectorAll("*")].flatMap((each) =>
      ["aria-label", "placeholder", "title", "alt"].map((name) =>
        each.getAttribute(name),
      ),
    );
    const all = [
      document.title.replace(" · Deeds", ""),
      copy.textContent,
      ...attributes,
    ];
    return all.flatMap((text) => this.lettersOutside(text ?? ""));
  },

  lettersOutside(text) {
    const inner = /⟦[^⟦⟧]*⟧/g;
    while (inner.test(text)) text = text.replace(inner, " ");
    return text.replace("https://…", "").match(/[A-Za-z]{2}[^\n]*/g) ?? [];
  },

  /**
   * Return the width of a page that is wider than the window, controls that their texts
   * stick out of, and verdicts of the door that do not fit.
   */
  cut() {
    const { scrollWidth } = document.documentElement;
    const wide = scrollWidth > innerWidth ? [`the page: ${scrollWidth}`] : [];
    const tapped = document.querySelectorAll("button, .button, nav a, summary");
    const verdicts = [...document.querySelectorAll(".door-verdict")];
    const high = verdicts.filter((each) => each.scrollHeight > each.clientHeight);
    return [
      ...wide,
      ...[...tapped].filter(this.sticksOut).map(({ outerHTML }) => outerHTML),
      ...high.map(({ textContent }) => textContent),
    ];
  },

  sticksOut(element) {
    const box = element.getBoundingClientRect();
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const range = new Range();
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (!node.data.trim() || node.parentElement.closest(".unseen")) continue;
      range.selectNodeContents(node);
      const text = range.getBoundingClientRect();
      if (text.left < box.left - 1 || text.right > box.right + 1) return true;
    }
    return false;
  },
};
