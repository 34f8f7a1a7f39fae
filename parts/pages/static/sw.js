// The service worker: keeps the pages and their files, so that deeds can be shown
// offline. It keeps nothing else: no answers of the API, and nothing that contains a
// secret.
//
// Each release has its own cache, to which its pages are added last: if a page is
// there, so are all of its files. The address of a file names its release, so releases
// never mix.

/* global RELEASE */ // {name, version, pages, files}, prepended by static_files.py

const PREFIX = "deeds-pages-";
const OWN = PREFIX + RELEASE.name;
const FILE = /^\/web\/[0-9a-f]{16}\//;
/** The page of one claim link or offer. The page's script reads which one. */
const OF_ONE = /^\/(claim|offer)\/[^/]*\/?$/;

/** How long to wait for a page from the network if one is kept. */
const WAIT_MS = 4000;

self.addEventListener("install", (event) => event.waitUntil(fill()));
// This runs only when no page of another release's worker is open.
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
  // If the person returns to a language, its cache must become the newest again.
  await caches.delete(OWN);
  const cache = await caches.open(OWN);
  await cache.addAll(RELEASE.files);
  await Promise.all(pages.map((page, place) => cache.put(RELEASE.pages[place], page)));
}

/**
 * Return a page of this release. If a machine still serves another release, fail the
 * installation.
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
 * Return the page from the network, or the kept one if no good answer comes in time.
 */
async function answerPage(request, page) {
  const kept = await newest(page);
  if (!kept) return fetch(request);
  const late = new Promise((resolve) => setTimeout(resolve, WAIT_MS, kept));
  const asked = fetch(request).then((answer) => (answer.status < 500 ? answer : kept));
  return Promise.race([asked.catch(() => kept), late]);
}

async function newest(page) {
  // Cache names are listed in the order of their creation.
  for (const cacheName of (await keptNames()).reverse()) {
    const kept = await caches.match(page, { cacheName, ignoreVary: true });
    if (kept) return kept;
  }
}

async function answerFile(request) {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}
