// The field for the operator's token: shown where the service asks for one and this
// browser has none, or has one that was refused.

import { gettext } from "../../format/gettext.js";
import { PROBLEM_TEXTS } from "../../texts.js";
import { byId } from "../../ui/dom.js";
import { onceAtATime, say, sayError, showError } from "../../ui/forms.js";
import { isToken, isTokenMissing, keepToken } from "../../wallet/mint_token.js";

/** Make the field work. @param {import("../open_wallet.js").Opened} opened */
export function tokenField({ api, wake }) {
  const panel = byId("token");
  const field = byId("mint-token", HTMLInputElement);
  const button = byId("keep-token", HTMLButtonElement);

  function draw() {
    panel.hidden = !isTokenMissing(panel.dataset.minting === "token");
  }

  /** Keep what is typed, once the service takes it; return whether there is a token. */
  async function keep() {
    const typed = field.value.trim();
    const wrong = await whatIsWrong(typed);
    showError(field, wrong);
    if (wrong) {
      field.focus();
      return false;
    }
    keepToken(typed);
    field.value = "";
    draw();
    return true;
  }

  async function whatIsWrong(typed) {
    if (!typed) return gettext("Enter the token.");
    const isRight = isToken(typed) && (await api.takesToken(typed));
    return isRight ? "" : PROBLEM_TEXTS.mint_token_wrong;
  }

  async function keepAlone() {
    if (!(await keep())) return;
    say(gettext("The token is saved."));
    // A mint that was sent with an older one may wait for it.
    wake();
    byId("create-button").focus();
  }

  button.onclick = () => onceAtATime(button, () => keepAlone().catch(sayError));
  // Another tab may have kept one, or had it refused.
  window.addEventListener("storage", draw);
  draw();
  return {
    draw,
    clearError: () => showError(field, ""),

    /**
     * Return whether nothing more is needed to create.
     * @throws what kept the service from being asked
     */
    isReady: async () => panel.hidden || keep(),

    /** Show the field again, if what was kept has been refused. */
    askAgain() {
      draw();
      if (!panel.hidden) field.focus();
    },
  };
}
