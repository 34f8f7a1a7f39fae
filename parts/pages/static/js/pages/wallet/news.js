// What is new in the wallet, in a sentence for each deed. Pure.

import { fill, gettext, ngettext } from "../../format/gettext.js";
import { partText } from "../../texts.js";

const NEWS_COUNT_MAX = 3;
const NEWS = {
  claimed: gettext("Claimed: {units}."),
  lost: gettext("Used elsewhere: {units}."),
  unknownSum: gettext("Not known to the service: {units}."),
};

/**
 * Return a sentence for each deed of which links were claimed, or something was lost.
 */
export function newsOf(before, after) {
  const all = after.flatMap((summary) => {
    const { itemId, item } = summary;
    const more = (name) => summary[name] - (before.get(itemId)?.[name] ?? Infinity);
    const news = Object.entries(NEWS).filter(([name]) => more(name) > 0);
    return news.map(([name, text]) =>
      fill(text, { units: partText(more(name), item) }),
    );
  });
  const more = all.length - NEWS_COUNT_MAX;
  return more > 0
    ? [
        ...all.slice(0, NEWS_COUNT_MAX),
        ngettext("And {count} more.", "And {count} more.", more),
      ]
    : all;
}
