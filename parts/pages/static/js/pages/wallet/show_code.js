// Shows the codes of what is held to a door, which claims them. Nothing is sent, moved
// or handed out for that, so that it works without a network.

import { unitsText } from "../../format/amounts.js";
import { gettext } from "../../format/gettext.js";
import { nameOf } from "../../format/about.js";
import { heldText, waitText } from "../../texts.js";
import { copyTemplate, find, keepAwake, make, oneAfterTheOther } from "../../ui/dom.js";
import { openDialog, say } from "../../ui/forms.js";
import { drawCode, linkOf } from "../../ui/link_view.js";
import { readHolding } from "../../wallet/holdings.js";

/** Show what is held of an item, one part at a time, the lowest number first. */
export async function openCodes(itemId, opener, tools) {
  const { item, unit, parts } = await readHolding(tools.store, itemId);
  if (!parts.length) return say(gettext("There is no code to show now."));
  const rank = ({ number = Infinity }) => number;
  parts.sort((one, other) => rank(one) - rank(other) || 0);
  const view = copyTemplate("code-template");
  const show = (part) => {
    find(view, ".code-about").textContent = heldText(part, unit);
    find(view, ".code-use").textContent = useText(part, unit);
    find(view, ".code-frame").replaceChildren(codeOf(part, { ...tools, unit }));
  };
  openDialog({
    title: nameOf(item),
    content: [view],
    actions: oneAfterTheOther(parts, show),
    kind: "code-sheet",
    onClose: keepAwake(),
    opener,
  });
}

/** Return what to do with a code: of several units, that it is not for paying a few. */
function useText({ amount }, unit) {
  if (amount === 1) return gettext("Let them scan this at the door.");
  const units = unitsText(amount, unit);
  return gettext(
    "Whoever scans this code gets all of it: {units}. To pay at a till, scan the till's code instead.",
    { units },
  );
}

/** Return the place of a code, which comes from the store; without one its link. */
function codeOf(output, tools) {
  const place = make("div", { class: "qr" });
  const showLink = (error) => {
    const why = waitText(error, gettext("The door can type its link:"));
    const link = make("p", { class: "code" }, linkOf(output, tools.unit));
    place.className = "stack";
    place.append(`${gettext("The code is not here yet.")} ${why}`, link);
  };
  // It is shown, whether or not there is room to note it.
  const note = () => tools.wallet.shown(output.key).catch(() => {});
  drawCode(place, output, tools, gettext("QR code")).catch(showLink).then(note);
  return place;
}
