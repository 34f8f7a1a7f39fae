// What tests do inside a page, without the page's own code. visitor.py adds this script
// to every page, before the page's scripts.

// No test can reach the browser's dialog for files. Without it, files are downloaded.
delete window.showSaveFilePicker;

window.watched = { shifts: [], violations: [] };
new PerformanceObserver((list) => {
  for (const { hadRecentInput, value, startTime, sources } of list.getEntries()) {
    if (hadRecentInput) continue;
    window.watched.shifts.push({
      value,
      at: Math.round(startTime),
      moved: sources.map(movedOf),
    });
  }
}).observe({ type: "layout-shift", buffered: true });

/** Return which node moved, from where to where. A node that is gone has no name. */
function movedOf({ node, previousRect, currentRect }) {
  const { localName = node?.nodeName, id = "", className = "" } = node ?? {};
  const [from, to] = [previousRect, currentRect].map(({ x, y, width, height }) => [
    x,
    y,
    width,
    height,
  ]);
  return `${localName}#${id}.${className}: ${from} → ${to}`;
}

// Count taps, but no keys.
addEventListener("pointerdown", () => window.noteTap(), { capture: true });

document.addEventListener("securitypolicyviolation", (event) => {
  window.watched.violations.push(`${event.effectiveDirective} ${event.blockedURI}`);
});

const inBrowser = {
  /** Return a new instance of a module of the page, as in a second tab. */
  load(name) {
    return import(
      new URL(`../js/${name}`, document.querySelector("link[rel=stylesheet]").href)
    );
  },

  /** Return the vertical positions of the parts of the Claim page after a claim. */
  tops() {
    const parts = [".deed", "#claimed", "#add-more", ".foot"];
    return parts.map((each) => document.querySelector(each).offsetTop);
  },

  /**
   * Mint into this browser's wallet, as a second tab would: `[outputs, metadata]`, or
   * `[{links, unit}, metadata]` for a series. Return the id of the item.
   */
  async mint([outputs, metadata]) {
    const names = ["store", "api", "wallet", "mint_token"];
    const modules = names.map((name) => this.load(`wallet/${name}.js`));
    const all = Object.assign({}, ...(await Promise.all(modules)));
    const store = await all.openStore();
    const api = all.makeApi((...request) => fetch(...request), undefined, all);
    const arrayMax = Number(document.body.dataset.arrayMax);
    const wanted = Array.isArray(outputs) ? { outputs } : outputs;
    const wallet = all.makeWallet({ store, api, arrayMax });
    const { operation } = await wallet.mint({ ...wanted, metadata });
    return operation.itemId;
  },

  /** Open the database without store.js, and return the result of `use`. */
  open(version, use = (database) => database) {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("deeds", version);
      opening.onerror = () => reject(opening.error);
      opening.onblocked = () => reject(new Error("blocked"));
      opening.onsuccess = () => resolve(use(opening.result));
    });
  },

  /** Return the result of one request to a kind of records, without store.js. */
  async transact(kind, mode, ask) {
    const isMade = ({ name }) => name === "deeds";
    // Opening a database that the page has not created yet would create an empty one.
    while (!(await indexedDB.databases()).some(isMade))
      await new Promise((resolve) => setTimeout(resolve, 20));
    const database = await this.open();
    const transaction = database.transaction(kind, mode);
    const request = ask(transaction.objectStore(kind));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    database.close();
    return request?.result;
  },

  /** Return all records of a kind. */
  records(kind) {
    return this.transact(kind, "readonly", (store) => store.getAll());
  },

  /** Put records that the page's own rules might not allow, and notify the page. */
  async put([kind, all]) {
    await this.transact(kind, "readwrite", (store) => {
      for (const record of all) store.put(record);
    });
    new BroadcastChannel("deeds").postMessage("changed");
  },

  /**
   * Open the store of this tab, and count changes and whether it was closed for good.
   */
  async openStore() {
    this.closedCount = 0;
    this.changesCount = 0;
    const { openStore } = await this.load("wallet/store.js");
    try {
      this.store = await openStore(() => (this.closedCount += 1));
      this.store.onChange(() => (this.changesCount += 1));
      return "open";
    } catch (error) {
      return `${error.name} ${error.code}: ${error.message}`;
    }
  },

  readStore() {
    const kinds = ["outputs", "operations", "items"];
    const wanted = Object.fromEntries(kinds.map((kind) => [kind, "all"]));
    const listed = (slices) => kinds.map((kind) => [kind, slices[kind].list()]);
    return this.store.read(wanted, listed).then(Object.fromEntries);
  },

  /**
   * Return the keys of outputs that the store loads for a query, or the message of the
   * error.
   */
  keysIn([wanted, fields]) {
    const keys = ({ outputs }) => outputs.list(fields).map(({ key }) => key);
    return this.store.read({ outputs: wanted }, keys).catch(({ message }) => message);
  },

  /** Put records. Return the result, or the name and code of the error. */
  update(changes) {
    return this.store
      .update({}, () => changes)
      .catch((error) => `${error.name} ${error.code}`);
  },

  /** Try updates that fail after a record was put. Return how many failed. */
  async failHalfWay() {
    const outputs = [{ key: "a" }];
    const rules = [
      () => {
        throw new Error("no");
      },
      () => ({ outputs, operations: [{ n: 1 }] }),
      () => ({ outputs, items: [undefined] }),
      () => ({ outputs, items: [{ key: "b", n: () => 1 }] }),
    ];
    const results = await Promise.allSettled(
      rules.map((rule) => this.store.update({}, rule)),
    );
    return results.filter(({ status }) => status === "rejected").length;
  },

  /** Begin to put many records; do not wait. */
  beginMany(count) {
    const outputs = Array.from({ length: count }, (_, n) => ({
      key: `o${n}`,
      text: "x".repeat(100),
    }));
    this.update({ outputs, items: [{ key: "last" }] });
  },

  /** Begin updates at once, each of which increments the same record. */
  beginToCount(times) {
    const wanted = { items: ["count"] };
    const addOne = ({ items }) => ({
      items: [{ key: "count", n: (items.get("count")?.n ?? 0) + 1 }],
    });
    this.counted = Promise.all(
      Array.from({ length: times }, () => this.store.update(wanted, addOne)),
    );
  },

  /** Return mode and durability of the transactions of an update. */
  async transactionsOfUpdate() {
    const asked = [];
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (...given) {
      const transaction = begin.apply(this, given);
      asked.push([transaction.mode, transaction.durability]);
      return transaction;
    };
    await this.update({});
    return asked;
  },

  /**
   * Return the controls that are too small for a thumb. The label of a check box counts
   * in its place; links within a sentence are left out.
   */
  smallControls() {
    const isText = ({ data = "" }) => data.trim();
    return [...document.querySelectorAll("button, input, select, textarea, a, summary")]
      .filter((each) => each.checkVisibility({ visibilityProperty: true }))
      .filter(
        (each) => each.closest("nav") || ![...each.parentNode.childNodes].some(isText),
      )
      .map((each) =>
        ["checkbox", "radio"].includes(each.type) ? each.labels[0] : each,
      )
      .filter((each) => each.getBoundingClientRect().height < 44)
      .map((each) => each.outerHTML);
  },
};
window.inBrowser = inBrowser;
