// The contract's advice on images (2.3): 320 to 1080 pixels wide, from 1.91:1 to 4:5. It is advice:
// nothing is refused for it.

const WIDTH_MIN = 320;
const WIDTH_MAX = 1080;

/**
 * Return what is better changed about an image of this size in pixels, or null if nothing is.
 * @param {number} width
 * @param {number} height
 * @returns {string | null}
 */
export function adviceFor(width, height) {
  if (!width || !height) return "This image tells no size; it may look different elsewhere.";
  const advice = [...widthAdvice(width), ...ratioAdvice(width, height)];
  return advice.length ? advice.join(" ") : null;
}

function widthAdvice(width) {
  if (width < WIDTH_MIN)
    return [`It is ${width} pixels wide: from ${WIDTH_MIN} on it looks sharp.`];
  if (width > WIDTH_MAX) return [`It is ${width} pixels wide: ${WIDTH_MAX} are enough.`];
  return [];
}

/** Compared in whole numbers, so that both ends of the range belong to it exactly. */
function ratioAdvice(width, height) {
  if (100 * width > 191 * height) return ["It is very wide: at most 1.91 to 1 is best."];
  if (5 * width < 4 * height) return ["It is very tall: at most 4 to 5 is best."];
  return [];
}
