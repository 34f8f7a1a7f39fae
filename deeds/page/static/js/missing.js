// Says what the browser lacks. Secrets need WebCrypto, which browsers give to pages that came by
// https or from the machine itself, and no others.

/**
 * Return what is missing for secrets to be made and kept, in whole sentences; nothing if all is
 * there.
 * @param {{crypto?: Crypto, indexedDB?: IDBFactory, isSecureContext?: boolean}} [browser]
 * @returns {string[]}
 */
export function whatIsMissing(browser = globalThis) {
  const missing = [];
  if (!browser.isSecureContext) {
    missing.push("This page did not come by https, so the browser makes no secrets for it.");
  } else if (!browser.crypto?.subtle || !browser.crypto.randomUUID) {
    missing.push("This browser is too old to make secrets for pages (WebCrypto).");
  }
  if (!browser.indexedDB) missing.push("This browser keeps nothing for pages (IndexedDB).");
  return missing;
}

/**
 * Say at the head of the page what is missing, or any other sentences in its place.
 * @param {string[]} sentences
 */
export function showMissing(sentences) {
  const place = document.getElementById("missing");
  const paragraphs = sentences.map((sentence) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = sentence;
    return paragraph;
  });
  place.replaceChildren(...paragraphs);
  place.hidden = !sentences.length;
}
