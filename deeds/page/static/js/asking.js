// A dialog that asks before something is done, and shows what became of it.

import { openDialog } from "./dialog.js";
import { make } from "./dom.js";
import { say } from "./notices.js";

/**
 * Ask, and do it when the answer is yes. The dialog stays open until it is done, and says why not.
 * @param {object} parts
 * @param {string} parts.title
 * @param {(Node | string)[]} parts.content
 * @param {string} parts.yes on the button
 * @param {HTMLElement} parts.opener
 * @param {string} parts.said once it is done
 * @param {(onWait: (text: string) => void) => Promise<string>} parts.act returns what stands in the
 *   way, or nothing once it is done; `onWait` says why it takes longer
 */
export function ask({ title, content, yes, opener, said, act }) {
  const problem = make("p", { class: "error", tabindex: "-1", role: "alert", hidden: true });
  const button = make("button", { class: "button", type: "submit" }, yes);
  const form = make("form", { class: "stack", novalidate: true }, ...content, problem);
  form.id = "ask-form";
  button.setAttribute("form", form.id);
  const dialog = openDialog({
    title,
    content: [form],
    actions: [button],
    closeText: "Cancel",
    opener,
  });
  const tell = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    tell("");
    const text = await act(tell);
    button.disabled = false;
    tell(text);
    if (!text) {
      dialog.close();
      say(said);
    } else if (!form.querySelector("[aria-invalid=true]")) problem.focus();
  });
}
