// The button of the Claim page that scans a QR code with the camera, where the browser can.

import { byId } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";
import { startScan, whyNoScan } from "../../ui/scan.js";

/**
 * Show the button, or a word where the browser cannot scan.
 * @param {(text: string) => Promise<boolean>} onText returns whether it was what is looked for
 */
export async function scanButton(onText) {
  const start = byId("scan-start", HTMLButtonElement);
  const place = byId("scan");
  const problem = await whyNoScan();
  start.hidden = Boolean(problem);
  byId("no-scan").hidden = !problem;
  byId("no-scan").textContent = problem;
  if (problem) return;

  let stop = () => {};
  const end = () => {
    stop();
    stop = () => {};
    place.hidden = true;
    start.disabled = false;
  };
  const receive = async (text) => {
    if (await onText(text)) end();
    else say("This QR code holds no deed.");
  };

  start.addEventListener("click", async () => {
    start.disabled = true;
    place.hidden = false;
    byId("scan-stop").focus();
    try {
      ({ stop } = await startScan(byId("scan-video", HTMLVideoElement), receive, end));
      // Stopped while the person was asked about the camera.
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
}
