// Browsers inside apps. What is claimed there stays in a storage that the person may
// never find again. They are recognized by their user agent only.

// Custom Tabs are not among them: they are the person's own browser, with its storage.
const IN_APP = new RegExp(
  "FBA[NV]/|Instagram|\\bLine/|MicroMessenger/|Snapchat|BytedanceWebview/|" +
    "LinkedInApp|Pinterest|; wv\\)",
);

export const isInApp = (/** @type {string} */ userAgent) => IN_APP.test(userAgent);

/**
 * Return the address that opens a link in the person's own browser, or an empty text if
 * the app cannot: only apps on Android can. Android takes everything before the last
 * "#" for the link (Intent.parseUri), including the fragment with the secret, which
 * contains no other "#".
 * @param {string} link
 * @param {string} userAgent
 */
export function outsideOf(link, userAgent) {
  if (!isInApp(userAgent) || !/\bAndroid\b/.test(userAgent)) return "";
  const [scheme, rest] = link.split(/:(.*)/);
  return `intent:${rest}#Intent;scheme=${scheme};action=android.intent.action.VIEW;end`;
}
