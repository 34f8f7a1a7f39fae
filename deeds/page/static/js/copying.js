// Copies texts to the clipboard.

/**
 * Copy a text.
 * @param {string} text
 * @returns {Promise<boolean>} whether the browser did
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not over http but on localhost, and not where the person has refused it.
    return copyAsPeopleDo(text);
  }
}

/** The way from before the clipboard had an interface: mark the text, then the command. */
function copyAsPeopleDo(text) {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.className = "unseen";
  field.value = text;
  // Outside a dialog that is open nothing can be marked.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
