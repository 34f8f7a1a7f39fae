// The dialog that reads a code with the camera.

import { gettext } from "../format/gettext.js";
import { make, makeActions, makeButton } from "./dom.js";
import { openDialog, say, sayError } from "./forms.js";
import { startScan, whyNoScan } from "./scan.js";

/** Return what opens it beside what could be typed, hidden where there is no camera. */
export function scanWay(onText) {
  const scan = makeButton(gettext("Scan a QR code"), () =>
    openScanner((text, close) => onText(text, close).catch(sayError), scan),
  );
  scan.hidden = true;
  whyNoScan().then((why) => (scan.hidden = Boolean(why)));
  return makeActions(scan);
}

/**
 * Show what the camera sees. `onText` gets each text, and what closes the dialog once
 * one was taken.
 * @param {(text: string, close: () => void) => unknown} onText
 * @param {HTMLElement} opener has the focus afterwards
 */
export function openScanner(onText, opener) {
  const video = make("video", {
    muted: true,
    playsinline: true,
    "aria-label": gettext("What the camera sees"),
  });
  const { close } = openDialog({
    title: gettext("Scan a QR code"),
    content: [video],
    closeText: gettext("Stop"),
    kind: "scan",
    onClose: () => stop(),
    opener,
  });
  const onEnd = (problem) => {
    close();
    if (problem) say(problem);
  };
  const stop = startScan(video, (text) => onText(text, close), onEnd);
}
