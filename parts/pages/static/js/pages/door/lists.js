// Hands guest lists from one browser to another, as a file or as codes that an open
// door scans. They contain no secret.

import { formatAmount, gettext, listText, ngettext } from "../../format/gettext.js";
import { waitText } from "../../texts.js";
import {
  download,
  make,
  makeActions,
  makeButton,
  makeHint,
  oneAfterTheOther,
} from "../../ui/dom.js";
import {
  ask,
  FieldError,
  makeField,
  openDialog,
  say,
  sayError,
} from "../../ui/forms.js";
import { codeImage } from "../../ui/link_view.js";
import { scanWay } from "../../ui/scan.js";
import { checkListSize, isDoorList, partsOfList } from "../../wallet/door_list.js";
import { outputsIn, readHolding } from "../../wallet/holdings.js";
import { unitsOf } from "../../wallet/records.js";
import { fileName, STATES } from "../link_export.js";

/** Characters that a phone easily reads from another phone's screen. */
const CODE_LENGTH_MAX = 600;
/** The last line of a code: which of how many it is. Lists ignore it. */
const CODE = /^code (\d+) of (\d+)$/m;
/**
 * Return whether a door exports a link: everything else on its list came from the
 * maker. Only that door knows the new link of an admission that was undone.
 */
const isExported = ({ state, output }) =>
  ["admitted", "undone"].includes(state) || (state === "waiting" && output.number);

/**
 * Return the buttons that export the guest list of a deed, import others, and forget
 * them.
 * @typedef {Pick<import("../open_wallet.js").Opened, "wallet" | "store" | "api"> & {itemId: string}} Tools
 */
export function listButtons(/** @type {Tools} */ tools) {
  return [
    makeButton(gettext("Export guest list"), (button) =>
      exportList(tools, button).catch(sayError),
    ),
    makeButton(gettext("Import guest list"), (button) => askForList(tools, button)),
    makeButton(gettext("Forget imported lists"), (button) =>
      askToForget(tools, button),
    ),
  ];
}

async function exportList({ itemId, wallet, store, api }, opener) {
  const { item, links } = await readHolding(store, itemId);
  const exported = item?.isMinted ? links : links.filter(isExported);
  const text = await wallet.doorList(itemId, exported);
  const lists = partsOfList(text, CODE_LENGTH_MAX);
  const parts = lists.map((list, place) =>
    lists.length > 1 ? `${list}\ncode ${place + 1} of ${lists.length}` : list,
  );
  const name = gettext("{name} guest list", { name: fileName(item) });
  const place = make("div", {}, make("div", { class: "qr" }));
  const show = async (part) => {
    const [svg] = await api.qr([part]);
    const code = codeImage(svg, gettext("QR code of the list"));
    place.replaceChildren(make("div", { class: "qr" }, code));
  };
  const showWhy = (error) => {
    const why = waitText(error, gettext("You can still download it."));
    place.replaceChildren(make("p", { role: "status" }, why));
  };
  const save = () => download(text, "text/plain", `${name}.txt`);
  openDialog({
    title: gettext("Export guest list"),
    content: [
      gettext(
        "The list has numbers, notes and admissions. It has no links, so nobody can claim a ticket with it.",
      ),
      gettext(
        "For guests who claimed at home, the door shows the number and note in their code. Neither is verified.",
      ),
      makeActions(makeButton(gettext("Download"), save)),
      makeHint(
        gettext(
          "The file has the whole list. Or scan each code with another open door:",
        ),
      ),
      place,
    ],
    actions: oneAfterTheOther(parts, (part) => show(part).catch(showWhy)),
    opener,
  });
}

function askForList(/** @type {Tools} */ tools, opener) {
  /** Which codes of a list with several were imported. */
  const imported = new Set();
  const onText = async (text, closeScanner) => {
    if (!isDoorList(text)) return;
    const summary = await importList(text, tools);
    const [, code, codes = 1] = CODE.exec(text) ?? [];
    if (imported.add(code).size >= Number(codes)) {
      closeScanner();
      close();
    }
    say(summary);
  };
  const { element, field } = makeField(gettext("File of the list"), { type: "file" });
  const { close } = ask({
    title: gettext("Import guest list"),
    content: [
      gettext(
        "Choose the list of another door or of the organiser. A ticket on several lists counts once.",
      ),
      element,
      scanWay(onText),
    ],
    yes: gettext("Import"),
    opener,
    act: async () => {
      const { files } = field;
      if (!files?.length) throw new FieldError(field, gettext("Choose a file."));
      checkListSize(files[0].size);
      return importList(await files[0].text(), tools);
    },
  });
}

function askToForget({ itemId, wallet }, opener) {
  ask({
    title: gettext("Forget imported lists?"),
    content: [
      gettext(
        "This browser then no longer knows who was let in at other doors. Guests let in here, numbers and notes stay.",
      ),
    ],
    yes: gettext("Forget"),
    said: gettext("Forgotten."),
    opener,
    act: async () => {
      // Without the lists, only the service knows which links of this wallet were used.
      await wallet.checkListed(itemId);
      await wallet.forgetLists(itemId);
    },
  });
}

/** Ask before importing a list that a camera saw: a guest may have shown it. */
export function askForScannedList(
  text,
  /** @type {Omit<Tools, "api">} */ tools,
  opener,
) {
  ask({
    title: gettext("Import this list?"),
    content: [
      gettext(
        "Import it only from the screen of the organiser or another door. It says which tickets are already in.",
      ),
    ],
    yes: gettext("Import"),
    opener,
    act: () => importList(text, tools),
  });
}

/**
 * Import a list, or one code of it. Return how many tickets it has, and what is new.
 */
async function importList(text, { itemId, wallet, store }) {
  const before = await readHolding(store, itemId);
  const count = await wallet.takeInList(itemId, text);
  const after = await readHolding(store, itemId);
  const known = new Map(before.links.map((link) => [link.output.key, link]));
  const isNoted = (/** @type {any} */ { output: { key, note } }) =>
    note && note !== known.get(key)?.output.note;
  const news = after.links.filter(
    ({ output, state }) => known.get(output.key)?.state !== state,
  );
  return `${countText(text, count)} ${newsText(news, after.links.filter(isNoted).length)}`;
}

function countText(text, count) {
  const [, code, codes] = CODE.exec(text) ?? [];
  return codes
    ? ngettext(
        "Code {code} of {codes} has {count} ticket.",
        "Code {code} of {codes} has {count} tickets.",
        count,
        { code, codes },
      )
    : ngettext("The list has {count} ticket.", "The list has {count} tickets.", count);
}

/** Return for example "New: 2 admitted, 1 admission undone and 1 note." */
function newsText(news, notesCount) {
  const list = Object.entries(STATES).flatMap(([state, text]) => {
    const count = unitsOf(outputsIn(news, state));
    return count ? `${formatAmount(count)} ${text}` : [];
  });
  if (notesCount) list.push(ngettext("{count} note", "{count} notes", notesCount));
  return list.length
    ? gettext("New: {list}.", { list: listText(list) })
    : gettext("Nothing new.");
}
