// The browsers that apps bring along: what is claimed there stays in a storage that its
// owner may never find again. Only a browser's own word tells of them.

// Not Custom Tabs, which are the person's own browser and share its storage.
const IN_APP = new RegExp(
  "FBA[NV]/|Instagram|\\bLine/|MicroMessenger/|Snapchat|BytedanceWebview/|" +
    "LinkedInApp|Pinterest|; wv\\)",
);

/** Return whether the page is in an app's own browser. */
export const isInApp = (/** @type {string} */ userAgent) => IN_APP.test(userAgent);

/**
 * Return the address that opens a link in the person's own browser, where an app on
 * Android can, or else nothing. Android takes all before the last "#" for the link
 * (Intent.parseUri), the fragment with its secret too, in which there is no further "#".
 * @param {string} link
 * @param {string} userAgent
 */
export function outsideOf(link, userAgent) {
  if (!isInApp(userAgent) || !/\bAndroid\b/.test(userAgent)) return "";
  const [scheme, rest] = link.split(/:(.*)/);
  return `intent:${rest}#Intent;scheme=${scheme};action=android.intent.action.VIEW;end`;
}
