// Keeps the screen on while somebody else looks at it.

/** Keep the screen on, where browsers can; return what ends that. */
export function keepAwake() {
  let lock;
  const take = () => {
    // The browser has released it when the page was hidden.
    if (!document.hidden)
      lock = navigator.wakeLock?.request("screen").catch(() => null);
  };
  document.addEventListener("visibilitychange", take);
  take();
  return async () => {
    document.removeEventListener("visibilitychange", take);
    (await lock)?.release();
  };
}
