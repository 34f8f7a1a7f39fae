// Starts the service worker (sw.js), with which the pages open without a network.

const WORKER = "/sw.js";

/** Start it once the page is there: what it fetches must not hold the page up. */
export function prepareOffline() {
  if (!navigator.serviceWorker) return;
  // Without one the page is as good while there is a network.
  const start = () => navigator.serviceWorker.register(workerUrl()).catch(() => {});
  if (document.readyState === "complete") start();
  else window.addEventListener("load", start, { once: true });
}

/** Return the one address that the page's policy (Trusted Types) lets become a script. */
function workerUrl() {
  const { trustedTypes } = /** @type {any} */ (window);
  const rules = { createScriptURL: () => WORKER };
  return trustedTypes?.createPolicy("deeds-offline", rules).createScriptURL("") ?? WORKER;
}
