// The button of the Claim page that scans a QR code, and what the camera sees.

import { byId } from "./dom.js";
import { say } from "./notices.js";
import { canScan, startScan } from "./scan.js";

/**
 * Show the button, or a word where the browser cannot scan.
 * @param {(text: string) => boolean} onText returns whether it was what is looked for
 */
export async function scanButton(onText) {
  const start = byId("scan-start");
  const place = byId("scan");
  const isPossible = await canScan();
  start.hidden = !isPossible;
  byId("no-scan").hidden = isPossible;
  if (!isPossible) return;

  let stop = () => {};
  const end = () => {
    stop();
    stop = () => {};
    place.hidden = true;
    start.disabled = false;
  };

  start.addEventListener("click", async () => {
    start.disabled = true;
    place.hidden = false;
    byId("scan-stop").focus();
    try {
      stop = await startScan(byId("scan-video"), (text) => {
        if (onText(text)) end();
        else say("This QR code holds no deed.");
      });
      // Stopped, or left, while the person was asked about the camera.
      if (place.hidden) end();
    } catch (error) {
      end();
      start.focus();
      say(error.message);
    }
  });
  byId("scan-stop").addEventListener("click", () => {
    end();
    start.focus();
  });
  window.addEventListener("pagehide", end);
}
