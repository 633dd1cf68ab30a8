/** What the browser remembers between visits; where it refuses (private windows, exported pages), nothing is. */
const PREFIX = "tensorsleuth.";

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

export function remember(key: string, word: string | null): void {
  try {
    if (word === null) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, word);
  } catch {
    // it lasts as long as the page
  }
}
