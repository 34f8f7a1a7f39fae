// The service worker: keeps the pages and their files, so that what is held is shown
// without a network. It keeps nothing else: no answer of the interface, and nothing
// that holds a secret.
//
// Each release has a cache of its own, which gets its pages last: a page that is in it
// has all of its files there. Files have their release in their address, so that no two
// releases mix.

/* global RELEASE */ // {name, version, pages, files}: parts/pages/static_files.py writes it above.

const PREFIX = "deeds-pages-";
const OWN = PREFIX + RELEASE.name;
const FILE = /^\/web\/[0-9a-f]{16}\//;
/** A link to claim or an offer: the script of the page reads which. */
const OF_ONE = /^\/(claim|offer)\/[^/]*\/?$/;

/** How long a page from the network is waited for where one is kept. */
const WAIT_MS = 4000;

self.addEventListener("install", (event) => event.waitUntil(fill()));
// Only once no page is open that another release's worker serves.
self.addEventListener("activate", (event) => event.waitUntil(forgetOthers()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  const page = pathname.replace(OF_ONE, "/$1");
  if (request.mode === "navigate") {
    if (RELEASE.pages.includes(page)) event.respondWith(answerPage(request, page));
  } else if (FILE.test(pathname)) event.respondWith(answerFile(request));
});

async function fill() {
  const pages = await Promise.all(RELEASE.pages.map(fetchPage));
  // A language that a person comes back to has to be the newest again.
  await caches.delete(OWN);
  const cache = await caches.open(OWN);
  await cache.addAll(RELEASE.files);
  await Promise.all(pages.map((page, place) => cache.put(RELEASE.pages[place], page)));
}

/**
 * Return a page of this release; a machine that is still at another makes the
 * installation fail.
 */
async function fetchPage(path) {
  const page = await fetch(path, { cache: "reload", redirect: "error" });
  const isOwn =
    page.ok && (await page.clone().text()).includes(`"/web/${RELEASE.version}/`);
  if (!isOwn) throw new Error("a page of another release");
  return page;
}

const keptNames = async () =>
  (await caches.keys()).filter((name) => name.startsWith(PREFIX));

async function forgetOthers() {
  for (const name of await keptNames()) if (name !== OWN) await caches.delete(name);
}

/**
 * Return the page as it is now; the one that is kept where no good answer comes soon.
 */
async function answerPage(request, page) {
  const kept = await newest(page);
  if (!kept) return fetch(request);
  const late = new Promise((resolve) => setTimeout(resolve, WAIT_MS, kept));
  const asked = fetch(request).then((answer) => (answer.status < 500 ? answer : kept));
  return Promise.race([asked.catch(() => kept), late]);
}

async function newest(page) {
  // The caches are in the order in which they were made.
  for (const cacheName of (await keptNames()).reverse()) {
    const kept = await caches.match(page, { cacheName, ignoreVary: true });
    if (kept) return kept;
  }
}

async function answerFile(request) {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}
