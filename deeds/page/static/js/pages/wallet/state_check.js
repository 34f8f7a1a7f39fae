// Asks the service for the state of everything, and says plainly what was spent elsewhere.

import { formatAmount, unitsText } from "../../format/amounts.js";
import { quoted } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { byId, make } from "../../ui/dom.js";

/**
 * Return two ways to check: `aloud` if a person asked, and `quietly`, which returns what it could
 * not do and speaks of news alone.
 * @param {import("../../wallet/wallet.js").Wallet} wallet
 * @param {{draw: () => Promise<import("../../wallet/holdings.js").Shown[]>,
 *   nameOf: (itemId: string) => string}} picture see pages/wallet/drawer.js
 */
export function stateChecker(wallet, { draw, nameOf }) {
  const button = byId("check-states", HTMLButtonElement);
  const place = byId("checked");

  /** Return what is to be said, of what has changed, and otherwise. */
  async function check(isAsked) {
    const before = await draw();
    await wallet.checkStates();
    const after = await draw();
    return { news: newsOf(before, after, nameOf, isAsked), count: countOf(after) };
  }

  const show = (texts) => place.replaceChildren(...texts.map((text) => make("p", {}, text)));

  return {
    async aloud() {
      if (button.disabled) return;
      button.disabled = true;
      try {
        const { news, count } = await check(true);
        show([...news, restText(count)]);
      } catch (error) {
        show([`Nothing was checked. ${textFor(error)}`]);
      } finally {
        button.disabled = false;
      }
    },

    async quietly() {
      try {
        const { news } = await check(false);
        if (news.length) show(news);
        return "";
      } catch {
        return "Whether it is all still unspent could not be checked now.";
      }
    },
  };
}

/** Return a sentence for every deed of which something was spent, or is not known any more. */
function newsOf(before, after, nameOf, isAsked) {
  const known = new Map(before.map((holding) => [holding.itemId, holding]));
  return after.flatMap((holding) => {
    const name = quoted(nameOf(holding.itemId));
    const fresh = (group) => {
      const old = new Set(known.get(holding.itemId)?.[group].map(({ key }) => key));
      return sumOfNew(holding[group], old);
    };
    const [taken, lost] = ["taken", "lost"].map(fresh);
    // Who asks is told of these each time: they count as held nowhere.
    const unknown = isAsked ? sumOfNew(holding.unknown, new Set()) : fresh("unknown");
    return [
      taken && `A link was claimed: ${unitsText(taken)} of ${name} are somebody else's now.`,
      lost && `Spent elsewhere: ${unitsText(lost)} of ${name}. Whoever had a copy was faster.`,
      unknown && `Not known to the service: ${unitsText(unknown)} of ${name}.`,
    ].filter(Boolean);
  });
}

function sumOfNew(outputs, old) {
  return outputs.filter(({ key }) => !old.has(key)).reduce((sum, output) => sum + output.amount, 0);
}

function countOf(holdings) {
  const count = (group) => holdings.reduce((sum, holding) => sum + holding[group].length, 0);
  return { held: count("outputs"), given: count("given") };
}

function restText({ held, given }) {
  if (!held && !given) return "Checked: there is nothing here that could be spent.";
  const counts = [held && counted(held, "part"), given && counted(given, "waiting link")];
  const verb = held + given === 1 ? "is" : "are";
  return `Checked: ${counts.filter(Boolean).join(" and ")} ${verb} unspent.`;
}

function counted(count, word) {
  return `${formatAmount(count)} ${word}${count === 1 ? "" : "s"}`;
}
