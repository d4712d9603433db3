const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENS_LIST = 0x5b;
const OPENS_OBJECT = 0x7b;

/**
 * Whether a JSON text holds more than about `most` values. Reading seventy megabytes of `[{},{},…]` takes half a minute
 * and two gigabytes; counting takes a fraction of a second, and a long text inside costs next to nothing.
 */
export function hasMoreValues(json: string, most: number): boolean {
  // A value takes two characters at least, with its comma.
  if (json.length < 2 * most) return false;
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(json, at);
      if (at === -1) return false;
    } else if (char === COMMA || char === OPENS_LIST || char === OPENS_OBJECT) {
      if (++values > most) return true;
    }
  }
  return false;
}

/** Where the string that begins at `start` ends; -1 when it does not. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end !== -1) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
    end = json.indexOf('"', end + 1);
  }
  return -1;
}
