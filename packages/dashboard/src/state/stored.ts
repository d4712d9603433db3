/** A preference of this browser; without storage (private windows) it lasts as long as the page. */
export function readStored(name: string): string | undefined {
  try {
    return localStorage.getItem(`agent-gateway.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Remembers a preference; undefined forgets it. */
export function store(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`agent-gateway.${name}`);
    else localStorage.setItem(`agent-gateway.${name}`, value);
  } catch {
    // Storage is full or forbidden: the preference is not remembered.
  }
}
