// The rows of a holding: its parts, and the links that were given away.

import { unitsText } from "../../format/amounts.js";
import { formatRawOutput } from "../../format/raw_output.js";
import { quoted, timeText } from "../../texts/operations.js";
import { copyText } from "../../ui/copying.js";
import { ask, openDialog } from "../../ui/dialog.js";
import { make, makeButton } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { makeCopyField } from "../../ui/output_view.js";
import { showLink } from "./link_dialog.js";
import { askToSplit } from "./split_dialog.js";

/**
 * @typedef {import("../../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {Pick<import("../open_wallet.js").Opened, "wallet" | "api"> & {
 *   run: ReturnType<typeof import("../open_wallet.js").verbRunner>,
 *   nameOf: (itemId: string) => string}} Tools
 */

/** Return the row of an output that is held. */
export function heldRow(output, tools) {
  return makeRow(output, null, [
    ...(output.amount > 1
      ? [button("Split", output, tools, (opener) => split(output, opener, tools))]
      : []),
    button("Copy", output, tools, (opener) => copyRaw(output, opener)),
  ]);
}

/** Return the row of an output that cannot be used, and why. */
export function deadRow(output, tools) {
  const isUnknown = output.state !== "spent";
  const tag = isUnknown ? "not known to the service" : "spent elsewhere";
  const copy = button("Copy", output, tools, (opener) => copyRaw(output, opener));
  return makeRow(output, ["bad", tag], isUnknown ? [copy] : [], output.changedAt);
}

/** Return the row of a link that waits to be claimed. */
export function givenRow(output, tools) {
  return makeRow(
    output,
    ["good", "waiting"],
    [
      button("Show the link", output, tools, (opener) =>
        showLink(output, {
          title: `A link to ${unitsText(output.amount)}`,
          name: quoted(tools.nameOf(output.itemId)),
          opener,
          qr: tools.api.qr,
        }),
      ),
      button("Take back", output, tools, (opener) => askToTakeBack(output, opener, tools)),
    ],
    output.createdAt,
  );
}

/** Return the row of a link that somebody has claimed. */
export function takenRow(output) {
  return makeRow(output, ["", "taken"], [], output.changedAt);
}

function makeRow({ amount }, tag, buttons, time) {
  const units = make("strong", {}, unitsText(amount));
  const marks = tag ? [" ", make("span", { class: `tag ${tag[0]}` }, tag[1])] : [];
  const when = time ? [" ", make("span", { class: "hint" }, timeText(time))] : [];
  return make(
    "li",
    { class: "part" },
    make("p", { class: "part-units" }, units, ...marks, ...when),
    ...(buttons.length ? [make("p", { class: "actions" }, ...buttons)] : []),
  );
}

function button(text, output, { nameOf }, onclick) {
  const made = makeButton(text, () => onclick(made));
  const about = ` ${unitsText(output.amount)} of ${quoted(nameOf(output.itemId))}`;
  made.append(make("span", { class: "unseen" }, about));
  return made;
}

function split(output, opener, { wallet, run }) {
  askToSplit(output, {
    opener,
    split: async (amounts, onWait) =>
      (await run(() => wallet.split(output.key, amounts), onWait)).problem,
  });
}

function askToTakeBack(output, opener, { wallet, run }) {
  const units = unitsText(output.amount);
  ask({
    title: `Take ${units} back?`,
    content: [make("p", {}, "The link stops working, for whoever has it.")],
    yes: "Take back",
    opener,
    said: `${units} are yours again.`,
    act: async (onWait) => (await run(() => wallet.takeBack(output.key), onWait)).problem,
  });
}

async function copyRaw(output, opener) {
  const raw = formatRawOutput(output);
  const said = `Copied. Whoever has this raw output can take ${unitsText(output.amount)}.`;
  if (await copyText(raw)) say(said);
  else {
    openDialog({
      title: "Copy it by hand",
      content: [makeCopyField("Raw output", raw, said)],
      opener,
    });
  }
}
